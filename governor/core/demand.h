// SPDX-License-Identifier: GPL-2.0-or-later
// The demand of a domain: docs/traces.md, "Demand". The scheduler moves work between the policies of a domain.
#pragma once

#include "governor/core/ladder.h"
#include "governor/core/uafp.h"

#include <optional>
#include <span>
#include <vector>

namespace happe {

struct PolicyLadder {
    PolicyId id;
    Ladder ladder;
};

// Names each policy exactly once. Empty: each policy is a domain of its own.
using Domains = std::vector<std::vector<PolicyId>>;

// A policy within a period.
struct Running {
    std::size_t index = 0;   // the policy's place among the machine's policies
    std::size_t domain = 0;  // the index of its domain
    const Ladder* ladder = nullptr;
    Khz current;                  // the frequency or cap in force
    std::optional<Khz> ran;       // with a cap: the measured speed
    std::optional<Khz> limit;     // the lowest limit that is not HAPPE's
    std::optional<Khz> within{};  // where HAPPE begins: the frequency that it would have set
    std::span<const Ppm> cpus;    // the utilisation of each CPU
    Ppm utilisation;              // of the busiest CPU
    Level level;                  // its domain's, from Demands::measure()

    [[nodiscard]] Khz speed() const;
    [[nodiscard]] Khz most() const;  // the highest speed that counts
    [[nodiscard]] NormalisedUtilisation normalised() const;
};

// The demand of a domain over a period, expressed as if its busiest policy had done all of the work.
struct Demand {
    std::size_t domain = 0;
    const Running* busiest = nullptr;  // the policy with the highest normalised utilisation; ties go to the lowest id
    const Running* fastest = nullptr;  // the policy with the highest top; ties go to the busiest
    NormalisedUtilisation normalised;
};

// The work of these CPUs, in ppm of f_max: docs/traces.md, "Demand". Idle CPUs count as 0, and none as busier than it
// could be at the speed `most`.
[[nodiscard]] std::uint64_t work_of(std::span<const Ppm> cpus, Khz speed, Khz f_max, Khz most = kHighestKhz);

class Demands {
public:
    // In a domain of several policies, a CPU below this counts as idle. Otherwise hundreds of almost idle CPUs would
    // add up to a busy one.
    static constexpr Ppm kIdle{10'000};

    // `policies`: ascending ids.
    Demands(std::span<const PolicyLadder> policies, const Domains& domains);

    [[nodiscard]] std::size_t domains() const { return sums_.size(); }
    [[nodiscard]] std::size_t domain_of(std::size_t policy) const { return domain_of_[policy]; }

    // The demand of each domain that has a policy in `running` (ascending indices), in the order of the domains' lowest
    // ids.
    // Valid until the next call. Fills in the level in `running`, and the speed where it was unknown.
    std::span<const Demand> measure(std::span<Running> running);

private:
    struct Load {
        std::uint64_t work = 0;         // ppm of f_max
        std::uint64_t utilisation = 0;  // ppm

        void add(const Running& policy);
    };
    struct Sum {
        std::size_t policies = 0;  // the number of the domain's policies, including those not in `running`
        Load known;                // of the policies with a measured speed
        Load all;
        const Running* busiest = nullptr;
        const Running* fastest = nullptr;
        NormalisedUtilisation most;        // of `busiest`
        NormalisedUtilisation of_fastest;  // of `fastest`
        Level level;
    };

    [[nodiscard]] Demand demand(std::size_t domain) const;

    std::vector<std::size_t> domain_of_;  // by index of the policy
    std::vector<Sum> sums_;               // by domain
    std::vector<Demand> demands_;         // a member so that its memory is reused
};

}  // namespace happe
