// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/bus/run_request.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <set>
#include <string_view>
#include <utility>

namespace happe {
namespace {

using Kind = ServiceError::Kind;

constexpr std::size_t kLongest = 255;
constexpr std::size_t kSealBytes = 560;  // a document's 512 and crypto_box_seal's 48

// What StartRun's dictionary holds.
struct Given {
    RunPlan plan;
    SealedRun sealed;
    bool blind = true;
    std::optional<bool> indicator;
    std::set<std::string, std::less<>> names;
};

// The fields that are strings, in a run in clear and beside what is sealed.
constexpr std::array kInClear{std::pair{"condition", &RunPlan::condition}, std::pair{"subject", &RunPlan::subject},
                              std::pair{"application", &RunPlan::application}};
constexpr std::array kBesideSeal{std::pair{"study", &SealedRun::study}, std::pair{"run", &SealedRun::run}};
constexpr std::array kNumbers{std::pair{"sampling_rate_us", &RunPlan::sampling_rate_us},
                              std::pair{"up_threshold", &RunPlan::up_threshold}};

// The member of this name; null if there is none.
template <typename Fields, typename Of>
auto member(const Fields& fields, std::string_view name, Of& of) {
    const auto* const found =
        std::ranges::find(fields, name, [](const auto& field) { return std::string_view(field.first); });
    return found == fields.end() ? nullptr : &(of.*found->second);
}

Answer<void> read_text(sd_bus_message* message, std::string_view name, std::string& field) {
    field = wire::read_variant<std::string>(message).value_or("");
    return field.empty() || field.size() > kLongest
               ? refusal(Kind::InvalidArgument, fmt::format("{}: not a string of 1 to {} bytes", name, kLongest))
               : Answer<void>();
}

Answer<void> read_seal(sd_bus_message* message, std::string& seal) {
    const auto bytes = wire::read_variant<std::vector<std::uint8_t>>(message);
    if (!bytes || bytes->size() != kSealBytes) {
        return refusal(Kind::InvalidArgument, fmt::format("sealed: not {} bytes", kSealBytes));
    }
    seal.assign(bytes->begin(), bytes->end());
    return {};
}

// One entry of the dictionary.
Answer<void> read_field(sd_bus_message* message, const std::string& name, Given& given) {
    given.names.insert(name);
    if (name == "sealed") {
        return read_seal(message, given.sealed.seal);
    }
    for (std::string* const text : {member(kInClear, name, given.plan), member(kBesideSeal, name, given.sealed)}) {
        if (text != nullptr) {
            return read_text(message, name, *text);
        }
    }
    bool good = false;
    if (auto* const number = member(kNumbers, name, given.plan); number != nullptr) {
        *number = wire::read_variant<std::uint32_t>(message);
        good = number->has_value();
    } else if (name == "blind" || name == "indicator") {
        const auto flag = wire::read_variant<bool>(message);
        good = flag.has_value();
        (name == "blind" ? given.blind : given.indicator.emplace()) = flag.value_or(false);
    } else {
        return refusal(Kind::InvalidArgument, fmt::format("{}: unknown", name.substr(0, kLongest)));
    }
    return good ? Answer<void>() : refusal(Kind::InvalidArgument, fmt::format("{}: of another type", name));
}

// A sealed run has three fields and no other; a run in clear, none of these.
Answer<RunRequest> request_of(const Given& given) {
    constexpr std::array<std::string_view, 3> kSealed{"sealed", "study", "run"};
    const auto is_given = [&](std::string_view name) { return given.names.contains(name); };
    if (std::ranges::none_of(kSealed, is_given)) {
        RunRequest request{.plan = given.plan, .sealed = {}, .blind = given.blind};
        request.plan.indicator = given.indicator.value_or(given.plan.condition == "B-HAPPE");
        return request;
    }
    for (const std::string& name : given.names) {
        if (std::ranges::find(kSealed, std::string_view(name)) == kSealed.end()) {
            return refusal(Kind::InvalidArgument, fmt::format("{}: not beside what is sealed", name));
        }
    }
    for (const std::string_view name : kSealed) {
        if (!is_given(name)) {
            return refusal(Kind::InvalidArgument, fmt::format("without {}, which a sealed run needs", name));
        }
    }
    return RunRequest{.plan = {}, .sealed = given.sealed, .blind = true};
}

bool append_sealed(sd_bus_message* message, const SealedRun& sealed) {
    return wire::append_entry(message, "sealed", std::vector<std::uint8_t>(sealed.seal.begin(), sealed.seal.end())) &&
           std::ranges::all_of(kBesideSeal, [&](const auto& field) {
               return wire::append_entry(message, field.first, sealed.*field.second);
           });
}

bool append_in_clear(sd_bus_message* message, const RunRequest& request) {
    const RunPlan& plan = request.plan;
    return std::ranges::all_of(
               kInClear,
               [&](const auto& field) { return wire::append_entry(message, field.first, plan.*field.second); }) &&
           std::ranges::all_of(kNumbers,
                               [&](const auto& field) {
                                   const auto& number = plan.*field.second;
                                   return !number || wire::append_entry(message, field.first, *number);
                               }) &&
           (!plan.indicator || wire::append_entry(message, "indicator", true)) &&
           wire::append_entry(message, "blind", request.blind);
}

}  // namespace

Answer<RunRequest> read_run_request(sd_bus_message* message) {
    Given given;
    Answer<void> fields;
    const bool read = wire::read_dictionary(message, [&](const std::string& name) {
        fields = read_field(message, name, given);
        return fields.has_value();
    });
    if (!fields) {
        return tl::unexpected<ServiceError>(fields.error());
    }
    return read ? request_of(given) : refusal(Kind::InvalidArgument, "what: not as documented");
}

bool wire::Type<RunRequest>::append(sd_bus_message* message, const RunRequest& request) {
    return sd_bus_message_open_container(message, SD_BUS_TYPE_ARRAY, "{sv}") >= 0 &&
           (request.sealed ? append_sealed(message, *request.sealed) : append_in_clear(message, request)) &&
           sd_bus_message_close_container(message) >= 0;
}

}  // namespace happe
