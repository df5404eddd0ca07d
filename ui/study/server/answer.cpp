// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/study/server/answer.h"

#include <QJsonDocument>
#include <QJsonObject>

namespace happe::study {
namespace {

constexpr int kSuccess = 200;
constexpr int kNoContent = 204;
constexpr int kRedirection = 300;
constexpr int kUnauthorized = 401;  // until staff enrol the laptop again
constexpr int kTooMany = 429;
constexpr int kServerError = 500;

const QString kProblem = QStringLiteral("urn:happe:problem:");

bool is_done(const Reply& reply) {
    if (reply.status < kSuccess || reply.status >= kRedirection) {
        return false;
    }
    const QString type = reply.type.section(QLatin1Char(';'), 0, 0).trimmed();
    const bool json =
        type == QStringLiteral("application/json") && QJsonDocument::fromJson(reply.body).isObject();  // it is complete
    return json || (reply.status == kNoContent && reply.body.isEmpty());
}

bool is_refused(int status, const QString& problem) {
    const bool passes = status == kUnauthorized || status == kTooMany || problem == QStringLiteral("too-early");
    return status >= kClientError && status < kServerError && !problem.isEmpty() && !passes;
}

}  // namespace

Answer answer_of(const Reply& reply) {
    if (reply.status == 0 || !reply.failure.isEmpty()) {
        return {.verdict = Verdict::Later, .status = 0, .body = {}, .problem = {}, .detail = reply.failure};
    }
    Answer answer{.verdict = Verdict::Later, .status = reply.status, .body = reply.body, .problem = {}, .detail = {}};
    const QJsonObject said = QJsonDocument::fromJson(reply.body).object();
    if (is_done(reply)) {
        answer.verdict = Verdict::Done;
    } else if (const QString type = said.value(QStringLiteral("type")).toString(); type.startsWith(kProblem)) {
        answer.problem = type.sliced(kProblem.size());
        answer.detail = said.value(QStringLiteral("detail")).toString();
        answer.verdict = is_refused(answer.status, answer.problem) ? Verdict::Refused : Verdict::Later;
    } else {
        answer.detail = QStringLiteral("HTTP %1, but not from the study's server").arg(reply.status);
    }
    return answer;
}

}  // namespace happe::study
