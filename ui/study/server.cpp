// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/study/server.h"

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
constexpr int kRedirection = 300;
constexpr int kUnauthorized = 401;  // until staff enrol the laptop anew
constexpr int kConflict = 409;
constexpr int kTooMany = 429;
constexpr int kServerError = 500;

Answer answer_of(QNetworkReply& reply) {
    Answer answer{.status = reply.attribute(QNetworkRequest::HttpStatusCodeAttribute).toInt(),
                  .body = reply.readAll(),
                  .problem = {},
                  .detail = {}};
    if (answer.status == 0 || reply.error() == QNetworkReply::OperationCanceledError) {
        answer.status = 0;
        answer.detail = reply.errorString();
    } else if (answer.status >= kRedirection) {
        const QJsonObject problem = QJsonDocument::fromJson(answer.body).object();
        answer.problem = problem.value(QStringLiteral("type")).toString().section(QLatin1Char(':'), -1);
        answer.detail = problem.value(QStringLiteral("detail")).toString(reply.errorString());
    }
    return answer;
}

}  // namespace

Verdict Answer::verdict() const {
    if (status >= kSuccess && status < kRedirection) {
        return Verdict::Done;
    }
    const bool early = status == kConflict && problem == QStringLiteral("too-early");
    const bool later = status == 0 || status == kUnauthorized || status == kTooMany || status >= kServerError || early;
    return later ? Verdict::Later : Verdict::Refused;
}

Server::Server(QUrl base, QByteArray token) : base_(std::move(base)), token_(std::move(token)) {
    network_.setTransferTimeout(kTransferMs);
    network_.setRedirectPolicy(QNetworkRequest::ManualRedirectPolicy);  // the token is for this server alone
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

void Server::insist(const Request& request, Then then, Then meanwhile) {
    insist_after(kFirstWaitMs, request, then, meanwhile);
}

void Server::insist_after(int wait_ms, const Request& request, const Then& then, const Then& meanwhile) {
    ask(request, [this, wait_ms, request, then, meanwhile](const Answer& answer) {
        if (answer.verdict() != Verdict::Later) {
            then(answer);
            return;
        }
        QTimer::singleShot(wait_ms, this, [this, wait_ms, request, then, meanwhile] {
            insist_after(std::min(2 * wait_ms, kLongestWaitMs), request, then, meanwhile);
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

}  // namespace happe::study
