// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happed/runs/run_condition.h"

#include "governor/documents/run_plan.h"
#include "governor/system/process.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <string>

namespace happe {
namespace {

using Rule = RunCondition::Rule;

Result<RunCondition> parse(const std::string& name, std::size_t steps) {
    if (name == condition::kOndemand) {
        return RunCondition{.rule = Rule::Ondemand};
    }
    if (name == condition::kTraining) {
        return RunCondition{.rule = Rule::Training};
    }
    if (name == condition::kOperating || name == condition::kIndicated) {
        return RunCondition{.rule = Rule::Operating};
    }
    if (name == condition::kExtended) {
        return RunCondition{.rule = Rule::Operating, .extended = true};
    }
    const std::size_t step = condition::fixed_level(name);
    if (step == 0 || step > steps) {
        return failure(fmt::format(
            "condition: must be ondemand, T-HAPPE, O-HAPPE, B-HAPPE, L-HAPPE, or fixed-1 to fixed-{} on this machine",
            steps));
    }
    return RunCondition{.rule = Rule::Fixed, .step = step - 1};
}

// Describes the first fault of a plan outside its condition; empty if there is none.
std::string fault_of(const RunPlan& plan, Rule rule) {
    constexpr std::size_t kLongest = 240;  // a subject with its prefix must be a name of at most 255 bytes
    constexpr std::uint32_t kMostPercent = 100;
    if (plan.subject.empty() || plan.subject.size() > kLongest) {
        return fmt::format("subject: not 1 to {} bytes", kLongest);
    }
    if (!plan.application.empty() && !is_application_name(plan.application)) {
        return "application: not a name that an application can have";
    }
    if (plan.condition == condition::kIndicated && !plan.indicator) {
        return "indicator: B-HAPPE has it";
    }
    if (rule != Rule::Ondemand && (plan.sampling_rate_us || plan.up_threshold)) {
        return "sampling_rate_us, up_threshold: only ondemand has them";
    }
    if (plan.up_threshold && (*plan.up_threshold == 0 || *plan.up_threshold > kMostPercent)) {
        return "up_threshold: not 1 to 100";
    }
    if (!plan.epp.empty() && std::ranges::find(kEpps, plan.epp) == kEpps.end()) {
        return fmt::format("epp: none of {}", fmt::join(kEpps, ", "));
    }
    return {};
}

}  // namespace

Result<RunCondition> condition_of(const RunPlan& plan, std::size_t steps) {
    return parse(plan.condition, steps).and_then([&](const RunCondition& condition) -> Result<RunCondition> {
        std::string fault = fault_of(plan, condition.rule);
        return fault.empty() ? Result<RunCondition>(condition) : failure(std::move(fault));
    });
}

}  // namespace happe
