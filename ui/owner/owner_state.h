// SPDX-License-Identifier: GPL-2.0-or-later
// The state of happed (docs/dbus.md) that the owner's window shows.
#pragma once

#ifndef Q_MOC_RUN  // which fails at <concepts>
#include <span>
#include "governor/explain/reasons.h"
#endif
#include "ui/overlay/battery_model.h"
#include "ui/overlay/overlay_state.h"

#include <QDateTime>
#include <QString>
#include <QVariantMap>
#include <optional>
#include <vector>

namespace happe::ui {

inline constexpr int kLevels = 10;  // of a profile

// The policy that works most; the window describes only this one.
struct Work {
    std::uint32_t khz = 0;  // decided
    std::uint32_t utilisation_ppm = 0;
    int level = 0;

    bool operator==(const Work&) const = default;
};

struct OwnerState {
    bool there = false;  // happed is on the bus
    QString state;       // as on the bus
    QString reason;
    QString application;  // the served application; empty if happed hides it from us
    QString performance_key;
    QString power_key;
    uint keyboards = 0;
    std::vector<std::uint32_t> ladder_khz;  // ascending, of the policy with the highest top
    std::vector<std::uint32_t> speeds_khz;  // the ladder's real speeds
    std::optional<Work> work;

    bool operator==(const OwnerState&) const = default;
};

// True if this is happed's name for this program while its window is in front.
[[nodiscard]] bool is_this_window(const QString& application);

// Leaves out values that are missing or of another type.
[[nodiscard]] OwnerState owner_state_of(const QVariantMap& properties);

// Today's saving since this time.
struct TodaysSaving {
    QDateTime since;
    Saving saving;
};

struct OwnProfile {
    QString application;
    std::vector<std::uint32_t> khz;  // by level

    bool operator==(const OwnProfile&) const = default;
};

// The same for the reasons of the decision.
[[nodiscard]] Situation situation_of(const QVariantMap& properties);

// The answer of ListEvents, oldest first; empty if it has another type.
[[nodiscard]] std::vector<LearningEvent> lessons_of(const QVariant& events);
// The same for the answer of Undo.
[[nodiscard]] std::vector<LearningEvent> undone_of(const QVariant& undone);
// The lessons that stand, without the undone ones, oldest first.
[[nodiscard]] std::vector<LearningEvent> standing(std::span<const LearningEvent> events);

// The saving from the answer of TimeSpent; none if that has no time, or another type.
[[nodiscard]] std::optional<TodaysSaving> saving_of(const QVariant& time_spent,
                                                    const std::vector<std::uint32_t>& speeds_khz,
                                                    const PowerModel& model);
// The answer of ListProfiles; empty if it has another type.
[[nodiscard]] std::vector<OwnProfile> profiles_of(const QVariant& profiles);

}  // namespace happe::ui
