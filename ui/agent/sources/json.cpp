// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/agent/sources/json.h"

#include <QJsonDocument>
#include <limits>

namespace happe::ui {

tl::expected<QJsonObject, std::string> object_in(std::string_view json) {
    QJsonParseError error;
    const auto bytes = QByteArray::fromRawData(json.data(), static_cast<qsizetype>(json.size()));
    auto document = QJsonDocument::fromJson(bytes, &error);
    if (error.error == QJsonParseError::IllegalUTF8String) {  // old X11 programs have such titles
        document = QJsonDocument::fromJson(QString::fromUtf8(bytes).toUtf8(), &error);
    }
    if (error.error != QJsonParseError::NoError) {
        return tl::unexpected("byte " + std::to_string(error.offset) + ": " + error.errorString().toStdString());
    }
    if (!document.isObject()) {
        return tl::unexpected<std::string>("an object is wanted");
    }
    return document.object();
}

pid_t pid_in(const QJsonObject& object) {
    const qint64 pid = object.value(QLatin1String("pid")).toInteger();
    return pid > 0 && pid <= std::numeric_limits<pid_t>::max() ? static_cast<pid_t>(pid) : 0;
}

}  // namespace happe::ui
