// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/study/server/requests.h"

#include <QJsonDocument>
#include <QJsonObject>

namespace happe::study {
namespace {

QByteArray body_of(const char* name, const std::string& value) {
    const QJsonObject object{{QLatin1String(name), QString::fromStdString(value)}};
    return QJsonDocument(object).toJson(QJsonDocument::Compact);
}

}  // namespace

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
