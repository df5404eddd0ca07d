// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/owner/desktop_entry.h"

#include <QLocale>
#include <QSettings>
#include <QStandardPaths>

namespace happe::ui {

std::optional<DesktopEntry> desktop_entry(const QString& application) {
    const QString path = QStandardPaths::locate(
        QStandardPaths::GenericDataLocation,
        QStringLiteral("applications/%1.desktop").arg(application.section(QLatin1Char('/'), 0, 0)));
    if (path.isEmpty()) {
        return std::nullopt;
    }
    QSettings file(path, QSettings::IniFormat);
    file.beginGroup(QStringLiteral("Desktop Entry"));
    const auto text = [&](const QString& key) {
        return file.value(key).toStringList().join(QStringLiteral(", "));  // Qt splits values at commas
    };
    const QString locale = QLocale().name();  // "de_DE"
    QString name = text(QStringLiteral("Name"));
    for (const QString& language : {locale.section(QLatin1Char('_'), 0, 0), locale}) {
        const QString translated = text(QStringLiteral("Name[%1]").arg(language));
        name = translated.isEmpty() ? name : translated;
    }
    return name.isEmpty() ? std::nullopt
                          : std::optional(DesktopEntry{.name = name, .icon = text(QStringLiteral("Icon"))});
}

}  // namespace happe::ui
