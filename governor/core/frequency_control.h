// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "governor/core/governor.h"
#include "governor/core/result.h"

#include <optional>
#include <span>
#include <vector>

namespace happe {

struct Policy {
    PolicyId id;
    std::vector<unsigned> cpus;  // numbers of the CPUs that scale together
    Ladder ladder;
    bool operator==(const Policy&) const = default;
};

inline std::vector<PolicyLadder> ladders_of(std::span<const Policy> policies) {
    std::vector<PolicyLadder> ladders;
    for (const Policy& policy : policies) {
        ladders.push_back({policy.id, policy.ladder});
    }
    return ladders;
}

// What sets frequencies, and gives the machine back.
class FrequencyControl {
public:
    // Ascending ids; the same for as long as the object lives.
    [[nodiscard]] virtual std::span<const Policy> policies() const = 0;

    // The frequency a policy runs at; nothing if that isn't known, and then what was decided last counts.
    [[nodiscard]] virtual std::optional<Khz> current(PolicyId policy) const = 0;

    // Before the first set(), and again after release(): from now on the frequencies are ours.
    [[nodiscard]] virtual Status acquire() = 0;
    [[nodiscard]] virtual Status set(PolicyId policy, Khz khz) = 0;

    // The governor and limits that acquire() found are back.
    [[nodiscard]] virtual Status release() = 0;

    virtual ~FrequencyControl() = default;
};

}  // namespace happe
