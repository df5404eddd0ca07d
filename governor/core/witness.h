// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "governor/core/governor.h"
#include "governor/core/press_series.h"
#include "governor/core/profile_book.h"
#include "governor/core/result.h"

#include <optional>
#include <span>

namespace happe {

// What one policy did over a period, as it was measured.
struct MeasuredPolicy {
    PolicySample sample;
    std::span<const Ppm> cpus;  // each CPU's utilisation; the sample has the busiest
};

// One turn of the loop: all that a trace, a screen or a study wants to know. Valid during the call.
struct Turn {
    MonoTime at;
    const Served* served;  // null if nobody is
    std::span<const MeasuredPolicy> policies;
    std::span<const Press> presses;
    std::optional<Key> counted;  // the series that began with them, also while nobody is served or presses are sham
    const Decision& decision;
    const Uafp* uafp;  // after the decision; null if nobody is served
};

// Who watches the loop: the trace recorder, the terminal, the study's accounts.
class Witness {
public:
    virtual void turned(const Turn& turn) = 0;
    virtual void failed(const Error& error) = 0;

    virtual ~Witness() = default;
};

}  // namespace happe
