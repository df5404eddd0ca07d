// SPDX-License-Identifier: GPL-2.0-or-later
// What the owner's window says, in the user's language.
#pragma once

#include "governor/explain/reasons.h"
#include "ui/owner/owner_state.h"

#include <QCoreApplication>
#include <QString>

namespace happe::ui {

class OwnerWords {
    Q_DECLARE_TR_FUNCTIONS(OwnerWords)

public:
    // What HAPPE does: "HAPPE governs for torcs: 1.2 GHz, speed 2 of 5."
    [[nodiscard]] static QString doing(const OwnerState& state);
    // Why, and what HAPPE tries next, as `happectl explain` says it; empty where that is all there is to say.
    [[nodiscard]] static QString why(const OwnerState& state, const std::optional<Reasons>& reasons);
    // "Since 09:12 HAPPE has saved 3.1 Wh, ..."; empty where it is unknown.
    [[nodiscard]] static QString saving(const std::optional<TodaysSaving>& today);
    // "1 hour 52 minutes of battery left · 56 %"
    [[nodiscard]] static QString battery(const RealBattery& battery);
    // A line each: for faster, to save power, on how many keyboards.
    [[nodiscard]] static QString keys(const OwnerState& state);
    // "22:54", or the day before today.
    [[nodiscard]] static QString when(const QDateTime& at);
    // "1.2 GHz"
    [[nodiscard]] static QString speed(std::uint32_t khz);
    // "30–40 %": how much of what its top speed could do the CPU does at this level.
    [[nodiscard]] static QString level(int level);
    [[nodiscard]] static QString key(Key key);
    // The whole chart in words: "0–10 %: 0.8 GHz. ..."
    [[nodiscard]] static QString chart(const OwnProfile& profile);

private:
    // The served one's name.
    [[nodiscard]] static QString application(const OwnerState& state);
};

}  // namespace happe::ui
