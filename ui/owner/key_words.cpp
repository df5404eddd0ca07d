// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/owner/key_words.h"

#include <QCoreApplication>
#include <QStringList>
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace happe::ui {
namespace {

struct Name {
    const char* ours;
    const char* words;
};

constexpr std::array kNames{
    Name{"CTRL", QT_TRANSLATE_NOOP("KeyWords", "Ctrl")},
    Name{"LEFTCTRL", QT_TRANSLATE_NOOP("KeyWords", "left Ctrl")},
    Name{"RIGHTCTRL", QT_TRANSLATE_NOOP("KeyWords", "right Ctrl")},
    Name{"ALT", QT_TRANSLATE_NOOP("KeyWords", "Alt")},
    Name{"LEFTALT", QT_TRANSLATE_NOOP("KeyWords", "left Alt")},
    Name{"RIGHTALT", QT_TRANSLATE_NOOP("KeyWords", "AltGr")},
    Name{"SHIFT", QT_TRANSLATE_NOOP("KeyWords", "Shift")},
    Name{"LEFTSHIFT", QT_TRANSLATE_NOOP("KeyWords", "left Shift")},
    Name{"RIGHTSHIFT", QT_TRANSLATE_NOOP("KeyWords", "right Shift")},
    Name{"META", QT_TRANSLATE_NOOP("KeyWords", "Super")},
    Name{"LEFTMETA", QT_TRANSLATE_NOOP("KeyWords", "left Super")},
    Name{"RIGHTMETA", QT_TRANSLATE_NOOP("KeyWords", "right Super")},
    Name{"KEY_UP", QT_TRANSLATE_NOOP("KeyWords", "Up")},
    Name{"KEY_DOWN", QT_TRANSLATE_NOOP("KeyWords", "Down")},
    Name{"KEY_LEFT", QT_TRANSLATE_NOOP("KeyWords", "Left")},
    Name{"KEY_RIGHT", QT_TRANSLATE_NOOP("KeyWords", "Right")},
    Name{"KEY_PAGEUP", QT_TRANSLATE_NOOP("KeyWords", "Page up")},
    Name{"KEY_PAGEDOWN", QT_TRANSLATE_NOOP("KeyWords", "Page down")},
    Name{"KEY_HOME", QT_TRANSLATE_NOOP("KeyWords", "Home")},
    Name{"KEY_END", QT_TRANSLATE_NOOP("KeyWords", "End")},
    Name{"KEY_INSERT", QT_TRANSLATE_NOOP("KeyWords", "Insert")},
    Name{"KEY_DELETE", QT_TRANSLATE_NOOP("KeyWords", "Delete")},
    Name{"KEY_SYSRQ", QT_TRANSLATE_NOOP("KeyWords", "Print")},
    Name{"KEY_SCROLLLOCK", QT_TRANSLATE_NOOP("KeyWords", "Scroll lock")},
    Name{"KEY_PAUSE", QT_TRANSLATE_NOOP("KeyWords", "Pause")},
    Name{"KEY_COMPOSE", QT_TRANSLATE_NOOP("KeyWords", "Menu")},
    Name{"KEY_MUTE", QT_TRANSLATE_NOOP("KeyWords", "Mute")},
    Name{"KEY_VOLUMEUP", QT_TRANSLATE_NOOP("KeyWords", "Volume up")},
    Name{"KEY_VOLUMEDOWN", QT_TRANSLATE_NOOP("KeyWords", "Volume down")},
    Name{"KEY_BRIGHTNESSUP", QT_TRANSLATE_NOOP("KeyWords", "Brightness up")},
    Name{"KEY_BRIGHTNESSDOWN", QT_TRANSLATE_NOOP("KeyWords", "Brightness down")},
    Name{"KEY_PROG1", QT_TRANSLATE_NOOP("KeyWords", "Program 1")},
    Name{"KEY_PROG2", QT_TRANSLATE_NOOP("KeyWords", "Program 2")},
    Name{"KEY_PROG3", QT_TRANSLATE_NOOP("KeyWords", "Program 3")},
    Name{"KEY_PROG4", QT_TRANSLATE_NOOP("KeyWords", "Program 4")},
};

QString part_in_words(const QString& part) {
    const auto* const found = std::ranges::find_if(kNames, [&](const Name& name) { return part == name.ours; });
    if (found != kNames.end()) {
        return QCoreApplication::translate("KeyWords", found->words);
    }
    for (const auto& [prefix, before] : {std::pair("KEY_FN_", "Fn+"), std::pair("KEY_", "")}) {
        if (part.startsWith(QLatin1String(prefix))) {
            const QString name = part.sliced(static_cast<qsizetype>(std::strlen(prefix)));
            return QLatin1String(before) + name.left(1) +
                   name.mid(1).toLower().replace(QLatin1Char('_'), QLatin1Char(' '));
        }
    }
    return part;
}

}  // namespace

QString key_in_words(const QString& binding) {
    QStringList words;
    for (const QString& part : binding.split(QLatin1Char('+'))) {
        words << part_in_words(part);
    }
    return words.join(QLatin1Char('+'));
}

}  // namespace happe::ui
