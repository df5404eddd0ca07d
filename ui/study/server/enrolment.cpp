// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/study/server/enrolment.h"

#include "governor/system/files.h"
#include "ui/study/server/server.h"

#include <sys/stat.h>
#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>

namespace happe::study {
namespace {

const QString kServer = QStringLiteral("server");
const QString kStudy = QStringLiteral("study");
const QString kDevice = QStringLiteral("device");
const QString kToken = QStringLiteral("token");

QString file_in(const QString& state) {
    return state + QStringLiteral("/device.json");
}

tl::expected<Enrolment, QString> read(const QJsonObject& told, const QUrl& server) {
    for (const QString& field : {kStudy, kDevice, kToken}) {
        if (told.value(field).toString().isEmpty()) {
            return tl::unexpected(field + QStringLiteral(": missing"));
        }
    }
    return Enrolment{.server = server,
                     .study = told.value(kStudy).toString(),
                     .device = told.value(kDevice).toString(),
                     .token = told.value(kToken).toString().toLatin1()};
}

}  // namespace

bool is_enrolled(const QString& state) {
    return QFile::exists(file_in(state));
}

tl::expected<Enrolment, QString> read_enrolment(const QString& state) {
    QFile file(file_in(state));
    if (!file.open(QIODevice::ReadOnly)) {
        return tl::unexpected(file.fileName() + QStringLiteral(": ") + file.errorString());
    }
    const QJsonObject told = QJsonDocument::fromJson(file.readAll()).object();
    const QUrl server = server_address(told.value(kServer).toString());
    if (server.isEmpty()) {
        return tl::unexpected(file.fileName() + QStringLiteral(": server: not the address of a study server"));
    }
    return read(told, server).map_error([&](const QString& error) {
        return file.fileName() + QStringLiteral(": ") + error;
    });
}

tl::expected<void, QString> write_enrolment(const QString& state, const Enrolment& enrolment) {
    const QJsonObject object{{kServer, enrolment.server.toString()},
                             {kStudy, enrolment.study},
                             {kDevice, enrolment.device},
                             {kToken, QString::fromLatin1(enrolment.token)}};
    const QByteArray text = QJsonDocument(object).toJson();
    return write_file(QFile::encodeName(file_in(state)).toStdString(), text.toStdString(), S_IRUSR | S_IWUSR)
        .map_error([](const Error& error) { return QString::fromStdString(error.message); });
}

tl::expected<Enrolment, QString> enrolment_of(const QUrl& server, const QByteArray& answer) {
    const QJsonObject told = QJsonDocument::fromJson(answer).object();
    if (told.value(QStringLiteral("kind")).toString() != QStringLiteral("laptop")) {
        return tl::unexpected(QStringLiteral("kind: this code is not a laptop's"));
    }
    return read(told, server);
}

}  // namespace happe::study
