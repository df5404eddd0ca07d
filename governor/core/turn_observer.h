// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "governor/core/governor.h"
#include "governor/core/press_series.h"
#include "governor/core/profile_book.h"
#include "governor/core/result.h"

#include <optional>
#include <span>

namespace happe {

// One turn of the loop, with all data for traces, displays and studies. Valid during the call.
struct Turn {
    MonoTime at;
    const Served* served;  // null if nobody is served
    std::span<const PolicySample> policies;
    std::span<const Press> presses;
    bool power_saver;            // the decision is one step lower than learned
    bool present = false;        // somebody was present
    Micros idle{0};              // FocusSource::idle()
    Ppm front{0};                // FocusSource::front()
    std::optional<Key> counted;  // the key of a new series, even if HAPPE serves nobody or presses are sham
    const Decision& decision;
    const Uafp* before = nullptr;        // the profile before a lesson or probe of this turn; null if nobody is served
    const Uafp* uafp;                    // after the decision, with a running probe's values; null if nobody is served
    const Patience* patience = nullptr;  // after the decision, with the setting `descent`; null if nobody is served
    const Descent::Probe* probe = nullptr;  // the probe that runs after the decision
    Micros lasted{0};                       // the period that ends with this turn
};

// Observes the loop: the trace recorder, the terminal, the study's accounts.
class TurnObserver {
public:
    virtual void turned(const Turn& turn) = 0;
    virtual void failed(const Error& error) = 0;

    virtual ~TurnObserver() = default;
};

}  // namespace happe
