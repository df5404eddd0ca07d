// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "governor/ports/frequency_control.h"
#include "governor/ports/utilisation_source.h"
#include "governor/sim/power_model.h"

#include <algorithm>
#include <numeric>

namespace happe {

// A T61 that has this machine's work to do: what keeps a CPU here busy u of the time wants u * f_max of the T61, so at
// a simulated frequency f it is busy min(1, u * f_max / f) of it. All CPUs are one policy.
class BorrowedMachine : public UtilisationSource, public FrequencyControl {
public:
    BorrowedMachine(UtilisationSource& real, std::size_t cpus)
        : real_(real), policies_{{PolicyId{0}, {}, sim::t61_ladder()}} {
        policies_.front().cpus.resize(cpus);
        std::iota(policies_.front().cpus.begin(), policies_.front().cpus.end(), 0U);
    }

    Result<std::span<const std::optional<Ppm>>> sample() override {
        const auto real = real_.sample();
        if (!real) {
            return tl::unexpected<Error>(real.error());
        }
        cpus_.assign(real->begin(), real->end());
        const std::uint64_t f_max = sim::t61_ladder().f_max().value;
        for (auto& cpu : cpus_) {
            if (cpu) {
                const std::uint64_t slowed = cpu->value * f_max / khz_.value;
                cpu = Ppm{static_cast<std::uint32_t>(std::min<std::uint64_t>(slowed, kOne.value))};
            }
        }
        return std::span<const std::optional<Ppm>>(cpus_);
    }
    [[nodiscard]] std::span<const Policy> policies() const override { return policies_; }
    [[nodiscard]] std::optional<Khz> current(PolicyId /*policy*/) const override { return khz_; }
    Status acquire() override { return {}; }
    Status set(PolicyId /*policy*/, Khz khz) override {
        khz_ = khz;
        return {};
    }
    Status release() override { return {}; }
    [[nodiscard]] Khz khz() const { return khz_; }

private:
    UtilisationSource& real_;
    std::vector<Policy> policies_;
    std::vector<std::optional<Ppm>> cpus_;
    Khz khz_ = sim::t61_ladder().lowest();
};

}  // namespace happe
