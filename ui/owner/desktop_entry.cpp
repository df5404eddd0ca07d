// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/owner/desktop_entry.h"

#include <QFile>
#include <QLocale>
#include <QMap>
#include <QStandardPaths>

namespace happe::ui {
namespace {

// The group "Desktop Entry" of a file.
QMap<QString, QString> values_in(QFile& file) {
    QMap<QString, QString> values;
    bool wanted = false;
    while (!file.atEnd()) {
        const QString line = QString::fromUtf8(file.readLine()).trimmed();
        const qsizetype equals = line.indexOf(QLatin1Char('='));
        if (line.startsWith(QLatin1Char('['))) {
            wanted = line == QLatin1String("[Desktop Entry]");
        } else if (wanted && equals > 0) {
            values.insert(line.first(equals).trimmed(), line.sliced(equals + 1).trimmed());
        }
    }
    return values;
}

}  // namespace

std::optional<DesktopEntry> desktop_entry(const QString& application) {
    const QString path = QStandardPaths::locate(
        QStandardPaths::GenericDataLocation,
        QStringLiteral("applications/%1.desktop").arg(application.section(QLatin1Char('/'), 0, 0)));
    QFile file(path);
    if (path.isEmpty() || !file.open(QIODevice::ReadOnly)) {
        return std::nullopt;
    }
    const auto values = values_in(file);
    const QString locale = QLocale().name();  // "de_DE"
    QString name = values.value(QStringLiteral("Name"));
    for (const QString& language : {locale.section(QLatin1Char('_'), 0, 0), locale}) {
        name = values.value(QStringLiteral("Name[%1]").arg(language), name);
    }
    return name.isEmpty() ? std::nullopt
                          : std::optional(DesktopEntry{.name = name, .icon = values.value(QStringLiteral("Icon"))});
}

}  // namespace happe::ui
