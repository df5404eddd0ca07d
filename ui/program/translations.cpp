// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/program/translations.h"

#include <QCoreApplication>
#include <QLocale>
#include <QTranslator>

namespace happe::ui {

void install_translations(QCoreApplication& application) {
    // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): the application owns its children
    auto* const translator = new QTranslator(&application);
    const QString folder = QStringLiteral(":/translations");
    if (translator->load(QLocale(), QStringLiteral("happe"), QStringLiteral("_"), folder) ||
        translator->load(QStringLiteral("happe_en"), folder)) {
        QCoreApplication::installTranslator(translator);
    }
}

}  // namespace happe::ui
