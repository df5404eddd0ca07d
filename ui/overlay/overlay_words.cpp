// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/overlay/overlay_words.h"

#include <QLocale>
#include <QStringList>
#include <algorithm>
#include <cstdlib>
#include <ranges>

namespace happe::ui {
namespace {

using std::chrono::minutes;

int hours_of(minutes time) {
    return static_cast<int>(time.count() / 60);
}

int rest_of(minutes time) {
    return static_cast<int>(time.count() % 60);
}

QString gigahertz(std::uint32_t khz) {
    return QLocale().toString(double(khz) / 1e6, 'f', 1);
}

// Three digits at most, for powers from 1 W to 1 kW.
QString number_of(double watts) {
    return QLocale().toString(watts, 'f', watts < 9.95 ? 1 : 0);
}

constexpr QChar kMinus{0x2212};
constexpr QChar kDash{0x2013};
constexpr QStringView kDot = u" \u00b7 ";

}  // namespace

QString counted(int number, const QString& one, const QString& more) {
    return QString::number(number) + QLatin1Char(' ') + (number == 1 ? one : more);
}

QString OverlayWords::time(const Shown& shown) {
    if (!shown.remaining) {
        return shown.on_battery ? QStringLiteral("On battery") : QStringLiteral("On mains");
    }
    const int hours = hours_of(*shown.remaining);
    const int rest = rest_of(*shown.remaining);
    return hours > 0 ? QStringLiteral("%1 h %2 min").arg(hours).arg(rest, 2, 10, QLatin1Char('0'))
                     : QStringLiteral("%1 min").arg(rest);
}

QString OverlayWords::clock(const Shown& shown) {
    if (!shown.remaining) {
        return {kDash};
    }
    return QStringLiteral("%1:%2")
        .arg(hours_of(*shown.remaining))
        .arg(rest_of(*shown.remaining), 2, 10, QLatin1Char('0'));
}

QString OverlayWords::step(const Shown& shown) {
    const QString step = QStringLiteral("step %1 of %2").arg(shown.step).arg(shown.steps);
    return shown.details ? QStringList{step, QStringLiteral("%1 GHz").arg(gigahertz(shown.khz))}.join(kDot) : step;
}

QString OverlayWords::watts(int watts) {
    return QStringLiteral("%1 W").arg(watts);
}

QString OverlayWords::power(const Power& power) {
    const QString now = number_of(*power.watts.back());
    const QString said =
        power.from == Power::From::Battery ? QStringLiteral("%1 W measured") : QStringLiteral("%1 W modelled");
    return QStringList{said.arg(now), QStringLiteral("%1 min").arg(PowerHistory::kSpan.count())}.join(kDot);
}

QString OverlayWords::effect(const Shown& shown) {
    if (!shown.effect) {
        return {};
    }
    const Effect& effect = *shown.effect;
    if (effect.fastest) {
        return effect.limit_khz ? QStringLiteral("fastest: limit %1 GHz").arg(gigahertz(*effect.limit_khz))
                                : QStringLiteral("this is the fastest");
    }
    if (effect.from_khz == effect.to_khz) {
        return effect.key == Key::Power ? QStringLiteral("lowest") : QStringLiteral("highest");
    }
    if (!effect.gained) {
        return effect.to_khz < effect.from_khz ? QStringLiteral("slower") : QStringLiteral("faster");
    }
    const auto gained = effect.gained->count();
    return (gained < 0 ? QString(kMinus) : QStringLiteral("+")) + QStringLiteral("%1 min").arg(std::abs(gained));
}

QString OverlayWords::spoken(minutes time) {
    const int hours = hours_of(time);
    const QString rest = counted(rest_of(time), QStringLiteral("minute"), QStringLiteral("minutes"));
    return hours > 0 ? counted(hours, QStringLiteral("hour"), QStringLiteral("hours")) + QLatin1Char(' ') + rest : rest;
}

QString OverlayWords::name(const Shown& shown) {
    return shown.remaining ? QStringLiteral("%1 of battery left").arg(spoken(*shown.remaining)) : time(shown);
}

QString OverlayWords::spoken_effect(const Effect& effect) {
    if (effect.fastest) {
        return effect.limit_khz ? QStringLiteral("Last key: this is the fastest, limited by others to %1 GHz.")
                                      .arg(gigahertz(*effect.limit_khz))
                                : QStringLiteral("Last key: this is the fastest.");
    }
    if (effect.from_khz == effect.to_khz) {
        return effect.key == Key::Power ? QStringLiteral("Last key: this is the lowest speed.")
                                        : QStringLiteral("Last key: this is the highest speed.");
    }
    if (!effect.gained) {
        return effect.to_khz < effect.from_khz ? QStringLiteral("Last key: slower.")
                                               : QStringLiteral("Last key: faster.");
    }
    const QString time = spoken(std::chrono::abs(*effect.gained));
    return effect.gained->count() < 0 ? QStringLiteral("Last key: %1 less.").arg(time)
                                      : QStringLiteral("Last key: %1 more.").arg(time);
}

// Describes the graph for people who do not see it.
QString OverlayWords::spoken_power(const Power& power) {
    const auto known = [](const std::optional<double>& watts) { return watts.has_value(); };
    const auto [least, most] = std::ranges::minmax(power.watts | std::views::filter(known));
    const QString now = number_of(*power.watts.back());
    const QString said = power.from == Power::From::Battery
                             ? QStringLiteral("Measured power: %1 W; in the last %2 minutes from %3 to %4 W.")
                             : QStringLiteral("Modelled power: %1 W; in the last %2 minutes from %3 to %4 W.");
    return said.arg(now).arg(PowerHistory::kSpan.count()).arg(number_of(*least), number_of(*most));
}

QString OverlayWords::description(const Shown& shown) {
    QStringList said{
        shown.details
            ? QStringLiteral("Step %1 of %2, %3 GHz.").arg(shown.step).arg(shown.steps).arg(gigahertz(shown.khz))
            : QStringLiteral("Step %1 of %2.").arg(shown.step).arg(shown.steps)};
    if (shown.effect) {
        said << spoken_effect(*shown.effect);
    }
    if (shown.charge_percent) {
        said << QStringLiteral("Battery at %1 %.").arg(*shown.charge_percent);
    }
    if (shown.power) {
        said << spoken_power(*shown.power);
    }
    return said.join(QLatin1Char(' '));
}

}  // namespace happe::ui
