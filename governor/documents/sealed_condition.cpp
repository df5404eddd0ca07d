// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/documents/sealed_condition.h"

#include "governor/documents/json_document.h"
#include "governor/documents/run_plan.h"

#include <algorithm>
#include <cstdint>

namespace happe {
namespace {

using json::Field;

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kSmall = "abcdefghijklmnopqrstuvwxyz";
constexpr std::string_view kCrockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
constexpr std::int64_t kLongestRateUs = 10'000'000;

bool consists_of(std::string_view text, std::string_view characters) {
    return text.find_first_not_of(characters) == std::string_view::npos;
}

// The code of a run or a participant.
std::string code(const Field& field) {
    constexpr std::size_t kLength = 8;
    std::string text = field.name();
    if (text.size() != kLength || !consists_of(text, kCrockford)) {
        field.refuse("no code");
    }
    return text;
}

// A key of a protocol.
std::string slug(const Field& field) {
    constexpr std::size_t kLongest = 40;
    const std::string others = std::string(kSmall) + std::string(kDigits) + "_-";
    std::string text = field.name();
    if (text.size() > kLongest || kSmall.find(text[0]) == std::string_view::npos || !consists_of(text, others)) {
        field.refuse("no key");
    }
    return text;
}

std::string condition_of(const Field& field) {
    std::string text = field.name();
    if (!condition::is_known(text)) {
        field.refuse("no condition");
    }
    return text;
}

std::optional<std::uint32_t> tunable(const Field& document, const char* name, std::int64_t most) {
    const auto field = document.find(name);
    return field ? std::optional(static_cast<std::uint32_t>(field->integer(1, most))) : std::nullopt;
}

// Refuses fields that contradict each other.
void check(const Field& document, const RunPlan& plan) {
    if (plan.condition != condition::kOndemand && (plan.sampling_rate_us || plan.up_threshold)) {
        document.refuse("tunables of ondemand");
    }
    if (plan.condition == condition::kIndicated && !plan.indicator) {
        document.refuse("B-HAPPE without the indicator");
    }
    if (plan.condition != condition::kExtended && plan.condition != condition::kOperating && plan.raised) {
        document.refuse("a raised profile of O-HAPPE or L-HAPPE");
    }
    if (!plan.condition.ends_with("-HAPPE") && !plan.sham) {
        document.refuse("a kernel's governor with keys");
    }
}

RunPlan plan_of(const Field& document) {
    const auto preferred = document.find("epp");
    const auto raised = document.find("raised");
    RunPlan plan{.condition = condition_of(document.at("condition")),
                 .subject = code(document.at("subject")),
                 .application = slug(document.at("application")),
                 .sampling_rate_us = tunable(document, "sampling_rate_us", kLongestRateUs),
                 .up_threshold = tunable(document, "up_threshold", 100),
                 .epp = preferred ? read_epp(*preferred) : std::string(),
                 .raised = raised && raised->boolean(),
                 .indicator = document.at("indicator").boolean(),
                 .sham = document.at("keys").one_of({"act", "sham"}) == 1};
    check(document, plan);
    return plan;
}

SealedCondition read(const Field& document) {
    static_cast<void>(document.object({"format", "study", "run", "subject", "application", "condition", "indicator",
                                       "keys", "epp", "sampling_rate_us", "up_threshold", "raised", "pad"}));
    static_cast<void>(document.at("format").one_of({"happe-condition/1"}));
    if (const Field pad = document.at("pad"); !consists_of(pad.text(kSealedDocumentBytes), ".")) {
        pad.refuse("not dots");
    }
    return {.study = slug(document.at("study")), .run = code(document.at("run")), .plan = plan_of(document)};
}

// Compact ASCII: no field's value has a blank, an escape or a control character.
bool is_compact(std::string_view document) {
    return std::ranges::all_of(document, [](char c) { return c > ' ' && c <= '~' && c != '\\'; });
}

}  // namespace

Result<SealedCondition> read_sealed_condition(std::string_view document) try {
    if (document.size() != kSealedDocumentBytes || !is_compact(document)) {
        throw json::FieldError("of another form");
    }
    const nlohmann::json parsed = json::parse(document);
    return read(Field(parsed, ""));
} catch (const json::FieldError&) {
    return failure("holds no document that this version knows");
}

}  // namespace happe
