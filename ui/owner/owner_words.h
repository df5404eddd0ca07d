// SPDX-License-Identifier: GPL-2.0-or-later
// The texts of the owner's window.
#pragma once

#include "ui/owner/owner_state.h"

#include <QString>

namespace happe::ui {

class OwnerWords {
public:
    // The present work: "HAPPE governs for torcs: 1.2 GHz, step 2 of 5."
    [[nodiscard]] static QString doing(const OwnerState& state);
    // Why, and what HAPPE tries next, in the words of `happectl explain`; empty if doing() says everything.
    [[nodiscard]] static QString why(const OwnerState& state, const std::optional<Reasons>& reasons);
    // "Since 09:12 HAPPE has saved 3.1 Wh, ..."; empty where it is unknown.
    [[nodiscard]] static QString saving(const std::optional<TodaysSaving>& today);
    // "1 hour 52 minutes of battery left · 56 %"
    [[nodiscard]] static QString battery(const RealBattery& battery);
    // Three lines: the key for faster, the key to save power, the number of keyboards.
    [[nodiscard]] static QString keys(const OwnerState& state);
    // "22:54", or the day before today.
    [[nodiscard]] static QString when(WallTime at);
    // "1.2 GHz"
    [[nodiscard]] static QString speed(std::uint32_t khz);
    // "30–40 %": the CPU's work at this level, as a share of its work at top speed.
    [[nodiscard]] static QString level(int level);
    [[nodiscard]] static QString key(Key key);
    // The whole chart in words: "0–10 %: 0.8 GHz. ... All speeds: 0.8 GHz, 1.2 GHz, ..."
    [[nodiscard]] static QString chart(const OwnProfile& profile, const std::vector<std::uint32_t>& ladder_khz);

private:
    // The name of the served application.
    [[nodiscard]] static QString application(const OwnerState& state);
};

// Names a key of the configuration ("CTRL+META+KEY_UP", "KEY_FN_F5") as keyboards and people do: "Ctrl+Super+Up",
// "Fn+F5". A key without such a name keeps its own, with spaces: "KEY_DISPLAY_OFF" is "Display off". The kernel names
// letters by their place on a US keyboard.
[[nodiscard]] QString key_in_words(const QString& binding);

}  // namespace happe::ui
