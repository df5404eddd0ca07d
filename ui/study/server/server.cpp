// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/study/server/server.h"

#include <QHostAddress>
#include <QJsonDocument>
#include <QJsonObject>
#include <QNetworkReply>
#include <QNetworkRequest>
#include <QTimer>
#include <algorithm>
#include <utility>

namespace happe::study {
namespace {

constexpr int kTransferMs = 15'000;
constexpr int kFirstWaitMs = 250;
constexpr int kLongestWaitMs = 15'000;

constexpr int kSuccess = 200;
constexpr int kNoContent = 204;
constexpr int kRedirection = 300;
constexpr int kClientError = 400;   // the least status of HTTP that is an error
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

Answer answer_of(QNetworkReply& reply) {
    const int status = reply.attribute(QNetworkRequest::HttpStatusCodeAttribute).toInt();
    // Qt reports statuses from 400 on as errors, with separate numbers.
    const bool whole = reply.error() == QNetworkReply::NoError ||
                       (status >= kClientError && reply.error() > QNetworkReply::UnknownProxyError);
    return study::answer_of({.status = status,
                             .failure = whole ? QString() : reply.errorString(),
                             .type = reply.header(QNetworkRequest::ContentTypeHeader).toString(),
                             .body = reply.readAll()});
}

QByteArray body_of(const char* name, const std::string& value) {
    const QJsonObject object{{QLatin1String(name), QString::fromStdString(value)}};
    return QJsonDocument(object).toJson(QJsonDocument::Compact);
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

Server::Server(QUrl base, QByteArray token) : base_(std::move(base)), token_(std::move(token)) {
    network_.setTransferTimeout(kTransferMs);
    network_.setRedirectPolicy(QNetworkRequest::ManualRedirectPolicy);  // no other server may get the token
}

QNetworkReply* Server::send(const Request& request) {
    QUrl address = base_;
    address.setPath(base_.path() + QStringLiteral("/api/v1/") + request.path);
    QNetworkRequest sent(address);
    if (!token_.isEmpty()) {
        sent.setRawHeader("Authorization", "Bearer " + token_);
    }
    sent.setRawHeader("Accept", "application/json");
    if (!request.body.isEmpty()) {
        sent.setHeader(QNetworkRequest::ContentTypeHeader, QStringLiteral("application/json"));
    }
    return network_.sendCustomRequest(sent, request.method, request.body);
}

void Server::ask(const Request& request, Then then) {
    QNetworkReply* const reply = send(request);
    connect(reply, &QNetworkReply::finished, this, [reply, then = std::move(then)] {
        reply->deleteLater();
        then(answer_of(*reply));
    });
}

void Server::insist(const Request& request, const Wanted& wanted, const Then& then, const Then& meanwhile) {
    insist_after(kFirstWaitMs, request, wanted, then, meanwhile);
}

void Server::insist_after(int wait_ms, const Request& request, const Wanted& wanted, const Then& then,
                          const Then& meanwhile) {
    ask(request, [this, wait_ms, request, wanted, then, meanwhile](const Answer& answer) {
        if (answer.verdict != Verdict::Later) {
            then(answer);
            return;
        }
        QTimer::singleShot(wait_ms, this, [this, wait_ms, request, wanted, then, meanwhile] {
            if (wanted()) {
                insist_after(std::min(2 * wait_ms, kLongestWaitMs), request, wanted, then, meanwhile);
            }
        });
        meanwhile(answer);
    });
}

QUrl server_address(const QString& text) {
    QUrl url(text.trimmed(), QUrl::StrictMode);
    const QString host = url.host();
    const bool here = host == QStringLiteral("localhost") || QHostAddress(host).isLoopback();
    const bool safe = url.scheme() == QStringLiteral("https") || (url.scheme() == QStringLiteral("http") && here);
    if (!url.isValid() || host.isEmpty() || !safe || url.hasQuery() || url.hasFragment() || !url.userInfo().isEmpty()) {
        return {};
    }
    while (url.path().endsWith(QLatin1Char('/'))) {
        url.setPath(url.path().chopped(1));
    }
    return url;
}

std::string token_of(const QString& link) {
    return link.trimmed().section(QLatin1Char('/'), -1).toStdString();
}

QUrl page_of(const QUrl& server, const std::string& token) {
    QUrl address = server;
    address.setPath(address.path() + QStringLiteral("/p/") + QString::fromStdString(token));
    return address;
}

Request sitting_of(const std::string& token) {
    return {.method = "PUT", .path = QStringLiteral("device/sitting"), .body = body_of("participant", token)};
}

Request leaving() {
    return {.method = "DELETE", .path = QStringLiteral("device/sitting"), .body = {}};
}

Request start_of(const QString& run, const std::string& id) {
    return {.method = "POST", .path = QStringLiteral("runs/%1/start").arg(run), .body = body_of("id", id)};
}

QByteArray seal_in(const QByteArray& answer) {
    const QJsonObject told = QJsonDocument::fromJson(answer).object();
    return QByteArray::fromBase64(told.value(QStringLiteral("sealed")).toString().toLatin1());
}

}  // namespace happe::study
