// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/shortcuts/shortcut_choice.h"

#include <QCoreApplication>
#include <QDir>
#include <QJsonDocument>
#include <QJsonObject>
#include <QSaveFile>
#include <QStandardPaths>
#include <utility>

namespace happe::ui {
namespace {

const QString kPerformance = QStringLiteral("performance");
const QString kPower = QStringLiteral("power");

QString folder() {
    return QStandardPaths::writableLocation(QStandardPaths::GenericConfigLocation) + QStringLiteral("/happe");
}

QString path() {
    return folder() + QStringLiteral("/shortcuts.json");
}

}  // namespace

QString shortcuts_in_words(const Shortcuts& shortcuts) {
    if (shortcuts == Shortcuts{}) {
        return QCoreApplication::translate(
            "Shortcuts", "Shortcuts: the desktop has given none yet. The indicator asks for them while it runs.");
    }
    return QCoreApplication::translate("Shortcuts", "Shortcuts: %1 for faster, %2 to save power.")
        .arg(shortcuts.performance, shortcuts.power);
}

ShortcutChoice::ShortcutChoice() : told_(get()) {
    watch_folder();
    connect(&folder_, &QFileSystemWatcher::directoryChanged, this, [this] {
        watch_folder();  // somebody may have deleted it
        auto now = get();
        if (std::exchange(told_, now) != now) {
            emit changed();
        }
    });
}

void ShortcutChoice::watch_folder() {
    QDir().mkpath(folder());  // so that it can be watched
    folder_.addPath(folder());
}

std::optional<Shortcuts> ShortcutChoice::get() {
    QFile file(path());
    if (!file.open(QIODevice::ReadOnly)) {
        return std::nullopt;
    }
    const QJsonObject object = QJsonDocument::fromJson(file.readAll()).object();
    return Shortcuts{.performance = object.value(kPerformance).toString(), .power = object.value(kPower).toString()};
}

bool ShortcutChoice::set(const std::optional<Shortcuts>& shortcuts) {
    if (!shortcuts) {
        return QFile::remove(path()) || !QFile::exists(path());
    }
    QDir().mkpath(folder());
    const QJsonObject object{{kPerformance, shortcuts->performance}, {kPower, shortcuts->power}};
    QSaveFile file(path());
    return file.open(QIODevice::WriteOnly) && file.write(QJsonDocument(object).toJson()) > 0 && file.commit();
}

}  // namespace happe::ui
