// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/owner/key_words.h"

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
    Name{"CTRL", "Ctrl"},
    Name{"LEFTCTRL", "left Ctrl"},
    Name{"RIGHTCTRL", "right Ctrl"},
    Name{"ALT", "Alt"},
    Name{"LEFTALT", "left Alt"},
    Name{"RIGHTALT", "AltGr"},
    Name{"SHIFT", "Shift"},
    Name{"LEFTSHIFT", "left Shift"},
    Name{"RIGHTSHIFT", "right Shift"},
    Name{"META", "Super"},
    Name{"LEFTMETA", "left Super"},
    Name{"RIGHTMETA", "right Super"},
    Name{"KEY_UP", "Up"},
    Name{"KEY_DOWN", "Down"},
    Name{"KEY_LEFT", "Left"},
    Name{"KEY_RIGHT", "Right"},
    Name{"KEY_PAGEUP", "Page up"},
    Name{"KEY_PAGEDOWN", "Page down"},
    Name{"KEY_HOME", "Home"},
    Name{"KEY_END", "End"},
    Name{"KEY_INSERT", "Insert"},
    Name{"KEY_DELETE", "Delete"},
    Name{"KEY_SYSRQ", "Print"},
    Name{"KEY_SCROLLLOCK", "Scroll lock"},
    Name{"KEY_PAUSE", "Pause"},
    Name{"KEY_COMPOSE", "Menu"},
    Name{"KEY_MUTE", "Mute"},
    Name{"KEY_VOLUMEUP", "Volume up"},
    Name{"KEY_VOLUMEDOWN", "Volume down"},
    Name{"KEY_BRIGHTNESSUP", "Brightness up"},
    Name{"KEY_BRIGHTNESSDOWN", "Brightness down"},
    Name{"KEY_PROG1", "Program 1"},
    Name{"KEY_PROG2", "Program 2"},
    Name{"KEY_PROG3", "Program 3"},
    Name{"KEY_PROG4", "Program 4"},
};

QString part_in_words(const QString& part) {
    const auto* const found = std::ranges::find_if(kNames, [&](const Name& name) { return part == name.ours; });
    if (found != kNames.end()) {
        return QLatin1String(found->words);
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
