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

// One domain for the whole machine, because the scheduler moves work between all its CPUs; or a domain for each policy.
inline Domains domains_of(std::span<const Policy> policies, bool together = true) {
    Domains domains;
    for (const Policy& policy : policies) {
        if (!together || domains.empty()) {
            domains.emplace_back();
        }
        domains.back().push_back(policy.id);
    }
    return domains;
}

// The limits that another program or the kernel sets for a policy.
struct PolicyLimits {
    PolicyId policy;
    Khz least;
    Khz most;
    bool operator==(const PolicyLimits&) const = default;
};

// The source of utilisation.
class UtilisationSource {
public:
    // Each CPU's utilisation since the last call, by CPU number. Empty for a CPU that is off line or whose counters did
    // not advance. The first call starts the measurement. The span is valid until the next call.
    [[nodiscard]] virtual Result<std::span<const std::optional<Ppm>>> sample() = 0;

    virtual ~UtilisationSource() = default;
};

// Sets frequencies and restores the machine.
class FrequencyControl {
public:
    // Ascending ids; their ladders are the same for as long as the object lives.
    [[nodiscard]] virtual std::span<const Policy> policies() const = 0;

    // The policy's present frequency or cap. Empty if unknown: then the last decision counts.
    [[nodiscard]] virtual std::optional<Khz> current(PolicyId policy) const = 0;

    // The lowest limit for this policy that is not HAPPE's. Empty if there is none below the policy's range.
    [[nodiscard]] virtual std::optional<Khz> limit(PolicyId /*policy*/) const { return std::nullopt; }

    // Fills in `ran` of the policies of one domain: the speeds at which they last ran below their present caps. Leaves
    // out what it does not know, and what cannot change the domain's level. Does nothing if frequencies are not caps.
    virtual void measure_speeds(std::span<PolicySample> /*domain*/) {}

    // Call before the first set(), and again after release(). HAPPE then controls the frequencies.
    [[nodiscard]] virtual Status acquire() = 0;
    [[nodiscard]] virtual Status set(PolicyId policy, Khz khz) = 0;

    // Restores the governor and limits that acquire() found.
    [[nodiscard]] virtual Status release() = 0;

    virtual ~FrequencyControl() = default;
};

}  // namespace happe
