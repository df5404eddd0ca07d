// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happed/hardware.h"

#include <unistd.h>
#include <algorithm>
#include <utility>

namespace happe {

Status Hardware::restore() {
    return restore_found(found_, cpufreq_);
}

Result<Hardware::Control> Hardware::open(const Configuration& configuration) {
    auto control = CpufreqControl::open(
        cpufreq_, {.found = found_, .speeds = configuration.calibration, .steps = configuration.ladder_steps});
    return control || !configuration.observe ? std::move(control) : nullptr;
}

void Hardware::take(Control control, bool observe) {
    if (control && control_) {
        control->inherit(*control_);
    }
    borrowed_.reset();
    control_.reset();
    if (observe) {
        const auto policies = control ? control->policies() : std::span<const Policy>();
        borrowed_ = std::make_unique<BorrowedMachine>(
            proc_stat_, control ? std::vector<Policy>(policies.begin(), policies.end())
                                : BorrowedMachine::t61(static_cast<std::size_t>(sysconf(_SC_NPROCESSORS_CONF))));
    } else {
        control_ = std::move(control);
    }
}

UtilisationSource& Hardware::utilisation() {
    return borrowed_ ? static_cast<UtilisationSource&>(*borrowed_) : proc_stat_;
}

FrequencyControl& Hardware::frequency() const {
    return borrowed_ ? static_cast<FrequencyControl&>(*borrowed_) : *control_;
}

const char* Hardware::backend() const {
    if (borrowed_) {
        return "observe";
    }
    return control_->backend() == Backend::Cap ? "cap" : "setspeed";
}

Khz Hardware::floor(std::uint32_t percent) const {
    const auto policies = frequency().policies();
    const Policy& fastest =
        *std::ranges::max_element(policies, {}, [](const Policy& policy) { return policy.ladder.top(); });
    const auto known = control_ ? control_->efficient(fastest.id) : std::nullopt;
    return known.value_or(Khz{static_cast<std::uint32_t>(std::uint64_t{fastest.ladder.top().value} * percent / 100)});
}

void Hardware::prefer(const std::string& epp, bool required) {
    if (control_) {
        control_->prefer(epp_is_others_ ? std::string() : epp, required);
    }
}

Status Hardware::leave_epp(bool to_others) {
    epp_is_others_ = to_others;
    if (!to_others) {
        return {};
    }
    return control_ ? control_->leave_epp() : forget_epp(found_);
}

Status Hardware::takes(const std::string& epp) const {
    if (epp_is_others_ && !epp.empty()) {
        return failure("a daemon of power profiles runs, and HAPPE leaves the energy performance preference to it");
    }
    if (!control_ && !epp.empty()) {
        return failure("happed only observes this machine");
    }
    return control_ ? control_->takes(epp) : Status();
}

Status Hardware::lend(const RunCondition& condition, const RunPlan& plan) {
    Status lent;
    if (condition.rule == RunCondition::Rule::Fixed) {
        lent = control_->fix(condition.step);
    } else {
        ScalingGovernor governor{.name = "ondemand", .tunables = {}};
        if (plan.sampling_rate_us) {
            governor.tunables["sampling_rate"] = std::to_string(*plan.sampling_rate_us);
        }
        if (plan.up_threshold) {
            governor.tunables["up_threshold"] = std::to_string(*plan.up_threshold);
        }
        lent = control_->lend(governor);
    }
    lent_ = lent.has_value();
    return lent;
}

Status Hardware::release() {
    lent_ = false;
    return frequency().release();
}

}  // namespace happe
