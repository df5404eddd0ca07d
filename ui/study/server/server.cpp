// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/study/server/server.h"

#include <QHostAddress>
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

}  // namespace

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

}  // namespace happe::study
