// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "governor/core/frequency_control.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace happe {

// A simulated machine that does the real machine's work. A real CPU that is busy for a share u of the time needs u *
// f_max of its policy. At a simulated frequency f it is busy for min(1, u * f_max / f).
class BorrowedMachine : public UtilisationSource, public FrequencyControl {
public:
    // `policies`: at least one, ascending ids. CPUs outside of these policies have no utilisation.
    BorrowedMachine(UtilisationSource& real, std::vector<Policy> policies)
        : real_(real), policies_(std::move(policies)) {
        for (const Policy& policy : policies_) {
            khz_.push_back(policy.ladder.lowest());
        }
    }

    // A T61 with this number of CPUs in one policy.
    static std::vector<Policy> t61(std::size_t cpus) {
        std::vector<Policy> policies{{PolicyId{0}, std::vector<unsigned>(cpus), t61_ladder()}};
        std::iota(policies.front().cpus.begin(), policies.front().cpus.end(), 0U);
        return policies;
    }

    Result<std::span<const std::optional<Ppm>>> sample() override {
        const auto real = real_.sample();
        if (!real) {
            return tl::unexpected<Error>(real.error());
        }
        cpus_.assign(real->size(), std::nullopt);
        for (std::size_t index = 0; index < policies_.size(); ++index) {
            for (const unsigned cpu : policies_[index].cpus) {
                if (cpu < real->size() && (*real)[cpu]) {
                    cpus_[cpu] = slowed(*(*real)[cpu], policies_[index].ladder.f_max(), khz_[index]);
                }
            }
        }
        return std::span<const std::optional<Ppm>>(cpus_);
    }
    [[nodiscard]] std::span<const Policy> policies() const override { return policies_; }
    [[nodiscard]] std::optional<Khz> current(PolicyId policy) const override { return khz_[index_of(policy)]; }
    Status acquire() override { return {}; }
    Status set(PolicyId policy, Khz khz) override {
        khz_[index_of(policy)] = khz;
        return {};
    }
    Status release() override { return {}; }

private:
    static Ppm slowed(Ppm utilisation, Khz f_max, Khz khz) {
        const std::uint64_t wanted = std::uint64_t{utilisation.value} * f_max.value / khz.value;
        return Ppm{static_cast<std::uint32_t>(std::min<std::uint64_t>(wanted, kOne.value))};
    }
    [[nodiscard]] std::size_t index_of(PolicyId policy) const {
        const auto found = std::ranges::find(policies_, policy, &Policy::id);
        return static_cast<std::size_t>(found - policies_.begin());
    }

    UtilisationSource& real_;
    std::vector<Policy> policies_;
    std::vector<Khz> khz_;  // of each policy
    std::vector<std::optional<Ppm>> cpus_;
};

}  // namespace happe
