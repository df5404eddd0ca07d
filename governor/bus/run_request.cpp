// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/bus/run_request.h"

#include "governor/documents/run_plan.h"

#include <fmt/format.h>
#include <cstdint>
#include <string_view>
#include <vector>

namespace happe {
namespace {

using Kind = ServiceError::Kind;

constexpr std::size_t kLongest = 255;
constexpr std::size_t kSealBytes = 560;  // a document's 512 and crypto_box_seal's 48

// The entries of StartRun's dictionary.
struct Fields {
    std::optional<std::string> condition;
    std::optional<std::string> subject;
    std::optional<std::string> application;
    std::optional<std::uint32_t> sampling_rate_us;
    std::optional<std::uint32_t> up_threshold;
    std::optional<std::string> epp;
    std::optional<bool> blind;
    std::optional<bool> indicator;
    std::optional<std::vector<std::uint8_t>> sealed;
    std::optional<std::string> study;
    std::optional<std::string> run;
};

// Calls look(name, whether it belongs to a sealed run, field) for each field, until look returns false.
template <typename Of, typename Look>
bool each(Of& fields, const Look& look) {
    return look("condition", false, fields.condition) && look("subject", false, fields.subject) &&
           look("application", false, fields.application) && look("sampling_rate_us", false, fields.sampling_rate_us) &&
           look("up_threshold", false, fields.up_threshold) && look("epp", false, fields.epp) &&
           look("blind", false, fields.blind) && look("indicator", false, fields.indicator) &&
           look("sealed", true, fields.sealed) && look("study", true, fields.study) && look("run", true, fields.run);
}

std::string fault(const std::optional<std::string>& text) {
    return !text || text->empty() || text->size() > kLongest ? fmt::format("not a string of 1 to {} bytes", kLongest)
                                                             : std::string();
}
std::string fault(const std::optional<std::vector<std::uint8_t>>& seal) {
    return !seal || seal->size() != kSealBytes ? fmt::format("not {} bytes", kSealBytes) : std::string();
}
template <typename T>
std::string fault(const std::optional<T>& value) {
    return value ? "" : "of another type";
}

Answer<void> read_field(sd_bus_message* message, const std::string& name, Fields& fields) {
    std::string wrong = "unknown";
    each(fields, [&]<typename T>(std::string_view known, bool /*sealed*/, std::optional<T>& field) {
        if (known == name) {
            field = wire::read_variant<T>(message);
            wrong = fault(field);
        }
        return known != name;
    });
    return wrong.empty() ? Answer<void>()
                         : refusal(Kind::InvalidArgument, fmt::format("{}: {}", name.substr(0, kLongest), wrong));
}

// A sealed run has exactly three fields; a run in clear has others.
Answer<RunRequest> request_of(const Fields& fields) {
    if (!fields.sealed && !fields.study && !fields.run) {
        const std::string condition = fields.condition.value_or("");
        return RunRequest{.plan = {.condition = condition,
                                   .subject = fields.subject.value_or(""),
                                   .application = fields.application.value_or(""),
                                   .sampling_rate_us = fields.sampling_rate_us,
                                   .up_threshold = fields.up_threshold,
                                   .epp = fields.epp.value_or(""),
                                   .indicator = fields.indicator.value_or(condition == condition::kIndicated)},
                          .sealed = {},
                          .blind = fields.blind.value_or(true)};
    }
    std::string wrong;
    each(fields, [&](std::string_view name, bool sealed, const auto& field) {
        if (sealed != field.has_value()) {
            wrong = sealed ? fmt::format("{}: missing; a sealed run needs it", name)
                           : fmt::format("{}: not allowed with a sealed condition", name);
        }
        return wrong.empty();
    });
    if (!wrong.empty()) {
        return refusal(Kind::InvalidArgument, wrong);
    }
    return RunRequest{.plan = {},
                      .sealed = SealedRun{.seal = {fields.sealed->begin(), fields.sealed->end()},
                                          .study = *fields.study,
                                          .run = *fields.run},
                      .blind = true};
}

Fields fields_of(const RunRequest& request) {
    const auto& [plan, sealed, blind] = request;
    if (sealed) {
        return {.sealed = std::vector<std::uint8_t>(sealed->seal.begin(), sealed->seal.end()),
                .study = sealed->study,
                .run = sealed->run};
    }
    return {.condition = plan.condition,
            .subject = plan.subject,
            .application = plan.application.empty() ? std::nullopt : std::optional(plan.application),
            .sampling_rate_us = plan.sampling_rate_us,
            .up_threshold = plan.up_threshold,
            .epp = plan.epp.empty() ? std::nullopt : std::optional(plan.epp),
            .blind = blind,
            .indicator = plan.indicator ? std::optional(true) : std::nullopt};
}

}  // namespace

Answer<RunRequest> read_run_request(sd_bus_message* message) {
    Fields fields;
    Answer<void> good;
    const bool read = wire::read_dictionary(message, [&](const std::string& name) {
        good = read_field(message, name, fields);
        return good.has_value();
    });
    if (!good) {
        return tl::unexpected<ServiceError>(good.error());
    }
    return read ? request_of(fields) : refusal(Kind::InvalidArgument, "what: not as documented");
}

bool wire::Type<RunRequest>::append(sd_bus_message* message, const RunRequest& request) {
    const Fields fields = fields_of(request);
    const auto append_field = [&](const char* name, bool /*sealed*/, const auto& field) {
        return !field || wire::append_entry(message, name, *field);
    };
    return sd_bus_message_open_container(message, SD_BUS_TYPE_ARRAY, "{sv}") >= 0 && each(fields, append_field) &&
           sd_bus_message_close_container(message) >= 0;
}

}  // namespace happe
