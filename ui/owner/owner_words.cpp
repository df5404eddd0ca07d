// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/owner/owner_words.h"

#include "ui/overlay/overlay_words.h"
#include "ui/owner/desktop_entry.h"

#include <QLocale>
#include <QStringList>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <iterator>
#include <utility>

namespace happe::ui {
namespace {

constexpr double kKhzOfGhz = 1e6;
constexpr double kJoulesOfWattHour = 3600.0;
constexpr double kSecondsOfMinute = 60.0;
constexpr double kPercent = 100.0;
constexpr int kPercentOfLevel = 100 / kLevels;
constexpr std::uint32_t kPpmOfPercent = 10'000;

// The step of the ladder that a frequency is on, from 1.
int step(const std::vector<std::uint32_t>& ladder, std::uint32_t khz) {
    return static_cast<int>(std::ranges::lower_bound(ladder, khz) - ladder.begin()) + 1;
}

QDateTime date_of(WallTime at) {
    return QDateTime::fromMSecsSinceEpoch(at.time_since_epoch().count() / 1000);
}

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

QString OwnerWords::when(WallTime at) {
    const QDateTime date = date_of(at);
    return date.date() == QDate::currentDate() ? QLocale().toString(date.time(), QLocale::ShortFormat)
                                               : QLocale().toString(date, QLocale::ShortFormat);
}

QString OwnerWords::speed(std::uint32_t khz) {
    return QStringLiteral("%1 GHz").arg(QLocale().toString(khz / kKhzOfGhz, 'f', 1));
}

QString OwnerWords::level(int level) {
    return QStringLiteral("%1–%2 %").arg(level * kPercentOfLevel).arg((level + 1) * kPercentOfLevel);
}

QString OwnerWords::key(Key key) {
    return key == Key::Performance ? QStringLiteral("Faster") : QStringLiteral("Save power");
}

QString OwnerWords::application(const OwnerState& state) {
    if (is_this_window(state.application)) {
        return QStringLiteral("this window");
    }
    const auto entry = desktop_entry(state.application);
    return entry ? entry->name : state.application;
}

QString OwnerWords::doing(const OwnerState& state) {
    if (!state.there) {
        return QStringLiteral("HAPPE is not running. The kernel's governor decides.");
    }
    if (state.state == QLatin1String("run")) {
        return QStringLiteral("A run of a study is in progress. This window shows HAPPE's state again after the run.");
    }
    if (state.state == QLatin1String("held")) {
        return QStringLiteral("HAPPE is paused. The kernel's governor decides.");
    }
    if (state.state == QLatin1String("contested")) {
        return QStringLiteral("Another program governs the CPU, so HAPPE has stopped governing.");
    }
    if (state.state == QLatin1String("failing")) {
        return QStringLiteral("HAPPE cannot govern every CPU here.");
    }
    if (state.application.isEmpty() || !state.work) {
        return QStringLiteral("HAPPE serves no user here now.");
    }
    const QString what = state.state == QLatin1String("observing")
                             ? QStringLiteral("HAPPE watches %1, and would choose %2, step %3 of %4.")
                             : QStringLiteral("HAPPE governs for %1: %2, step %3 of %4.");
    return what.arg(application(state), speed(state.work->khz))
        .arg(step(state.ladder_khz, state.work->khz))
        .arg(state.ladder_khz.size());
}

QString OwnerWords::why(const OwnerState& state, const std::optional<Reasons>& reasons) {
    if (!state.reason.isEmpty() && state.state != QLatin1String("governing")) {
        return QStringLiteral("Why: %1").arg(state.reason);
    }
    if (state.state == QLatin1String("run") || !state.work) {
        return {};
    }
    const QString load = QStringLiteral("The CPU is %1 % busy, %2 of its capacity at top speed.")
                             .arg(state.work->utilisation_ppm / kPpmOfPercent)
                             .arg(level(state.work->level));
    if (!reasons) {
        return load;
    }
    const Wording wording{
        .frequency = [](Khz khz) { return speed(khz.value).toStdString(); },
        .level = [](Level at) { return QStringLiteral("a load of %1").arg(level(at.value)).toStdString(); },
    };
    const QString whom = application(state);
    const std::string time = reasons->taught
                                 ? QLocale().toString(date_of(reasons->taught->at), QLocale::ShortFormat).toStdString()
                                 : std::string();
    return load + QLatin1Char(' ') + QString::fromStdString(happe::why(*reasons, whom.toStdString(), time, wording)) +
           QLatin1Char(' ') + QString::fromStdString(what_next(*reasons, wording));
}

QString OwnerWords::saving(const std::optional<TodaysSaving>& today) {
    if (!today) {
        return {};
    }
    const double joules = today->saving.joules;
    const QString text =
        joules >= 0.0
            ? QStringLiteral(
                  "Today since %1 HAPPE has saved %2 Wh, or %3 min of battery, compared with the kernel's governor "
                  "(modelled).")
            : QStringLiteral(
                  "Today since %1 HAPPE has used %2 Wh, or %3 min of battery, more than the kernel's governor would "
                  "have (modelled).");
    return text.arg(QLocale().toString(today->since.time(), QLocale::ShortFormat),
                    QLocale().toString(std::abs(joules) / kJoulesOfWattHour, 'f', 1),
                    QLocale().toString(std::abs(today->saving.time().count()) / kSecondsOfMinute, 'f', 0));
}

QString OwnerWords::battery(const RealBattery& battery) {
    Shown shown;
    if (battery.remaining) {
        shown.remaining = std::chrono::floor<std::chrono::minutes>(*battery.remaining);
    }
    const QString left = OverlayWords::name(shown);
    return battery.charge ? QStringLiteral("%1 · %2 %").arg(left).arg(std::lround(*battery.charge * kPercent)) : left;
}

QString OwnerWords::keys(const OwnerState& state) {
    if (state.performance_key.isEmpty() && state.power_key.isEmpty()) {
        return {};
    }
    const QString keys = QStringLiteral("Faster: %1\nSave power: %2")
                             .arg(key_in_words(state.performance_key), key_in_words(state.power_key));
    return keys + QLatin1Char('\n') +
           (state.keyboards > 0 ? QStringLiteral("Found on %1.")
                                      .arg(counted(static_cast<int>(state.keyboards), QStringLiteral("keyboard"),
                                                   QStringLiteral("keyboards")))
                                : QStringLiteral("No keyboard has these keys."));
}

QString OwnerWords::chart(const OwnProfile& profile, const std::vector<std::uint32_t>& ladder_khz) {
    QStringList steps;
    for (int at = 0; at < static_cast<int>(profile.khz.size()); ++at) {
        steps << QStringLiteral("%1: %2").arg(level(at), speed(profile.khz[static_cast<std::size_t>(at)]));
    }
    if (!ladder_khz.empty()) {
        QStringList all;
        std::ranges::transform(ladder_khz, std::back_inserter(all), speed);
        steps << QStringLiteral("All speeds: %1").arg(all.join(QStringLiteral(", ")));
    }
    return steps.join(QStringLiteral(". "));
}

QString key_in_words(const QString& binding) {
    QStringList words;
    for (const QString& part : binding.split(QLatin1Char('+'))) {
        words << part_in_words(part);
    }
    return words.join(QLatin1Char('+'));
}

}  // namespace happe::ui
