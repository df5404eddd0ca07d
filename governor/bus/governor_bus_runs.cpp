// SPDX-License-Identifier: GPL-2.0-or-later
// The methods of a study's runs.
#include "governor/bus/governor_bus_answers.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace happe {
namespace {

using Kind = ServiceError::Kind;

constexpr std::size_t kSealBytes = 560;  // a document's 512 and crypto_box_seal's 48

// What StartRun's dictionary holds.
struct Given {
    RunPlan plan;
    SealedRun sealed;
    bool blind = true;
    bool indicator = false;
    std::set<std::string, std::less<>> names;
};

// The field of this name; null if it is of another type.
std::string* text_field(Given& given, std::string_view name) {
    const std::array<std::pair<std::string_view, std::string*>, 5> fields{{{"condition", &given.plan.condition},
                                                                           {"subject", &given.plan.subject},
                                                                           {"application", &given.plan.application},
                                                                           {"study", &given.sealed.study},
                                                                           {"run", &given.sealed.run}}};
    const auto* const found = std::ranges::find(fields, name, &std::pair<std::string_view, std::string*>::first);
    return found == fields.end() ? nullptr : found->second;
}

std::optional<std::uint32_t>* number_field(Given& given, std::string_view name) {
    if (name == "sampling_rate_us") {
        return &given.plan.sampling_rate_us;
    }
    return name == "up_threshold" ? &given.plan.up_threshold : nullptr;
}

bool* flag_field(Given& given, std::string_view name) {
    if (name == "blind") {
        return &given.blind;
    }
    return name == "indicator" ? &given.indicator : nullptr;
}

Answer<void> read_text(sd_bus_message* call, std::string_view name, std::string& field) {
    const char* text = nullptr;
    field = sd_bus_message_read(call, "v", "s", &text) < 0 ? "" : text;
    if (field.empty() || field.size() > kLongestString) {
        return refusal(Kind::InvalidArgument, fmt::format("{}: not a string of 1 to {} bytes", name, kLongestString));
    }
    return {};
}

Answer<void> read_seal(sd_bus_message* call, std::string& seal) {
    const void* bytes = nullptr;
    std::size_t size = 0;
    if (sd_bus_message_enter_container(call, SD_BUS_TYPE_VARIANT, "ay") <= 0 ||
        sd_bus_message_read_array(call, SD_BUS_TYPE_BYTE, &bytes, &size) < 0 || size != kSealBytes) {
        return refusal(Kind::InvalidArgument, fmt::format("sealed: not {} bytes", kSealBytes));
    }
    seal.assign(static_cast<const char*>(bytes), size);
    const int status = sd_bus_message_exit_container(call);
    return status < 0 ? Answer<void>(bus_failure(status)) : Answer<void>();
}

// One entry of the dictionary.
Answer<void> read_field(sd_bus_message* call, Given& given) {
    const char* key = nullptr;
    if (const int status = sd_bus_message_read(call, "s", &key); status < 0) {
        return bus_failure(status);
    }
    const std::string name = key;
    given.names.insert(name);
    if (name == "sealed") {
        return read_seal(call, given.sealed.seal);
    }
    if (std::string* const text = text_field(given, name); text != nullptr) {
        return read_text(call, name, *text);
    }
    int status = 0;
    if (auto* const number = number_field(given, name); number != nullptr) {
        status = sd_bus_message_read(call, "v", "u", &number->emplace());
    } else if (bool* const flag = flag_field(given, name); flag != nullptr) {
        int read = 0;
        status = sd_bus_message_read(call, "v", "b", &read);
        *flag = read != 0;
    } else {
        return refusal(Kind::InvalidArgument, fmt::format("{}: unknown", name.substr(0, kLongestString)));
    }
    return status < 0 ? Answer<void>(refusal(Kind::InvalidArgument, fmt::format("{}: of another type", name)))
                      : Answer<void>();
}

// A sealed run has three fields and no other; a run in clear, none of these.
Answer<RunRequest> request_of(const Given& given) {
    constexpr std::array<std::string_view, 3> kSealed{"sealed", "study", "run"};
    const auto is_given = [&](std::string_view name) { return given.names.contains(name); };
    if (std::ranges::none_of(kSealed, is_given)) {
        RunRequest request{.plan = given.plan, .sealed = {}, .blind = given.blind};
        request.plan.indicator = is_given("indicator") ? given.indicator : given.plan.condition == "B-HAPPE";
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

Answer<RunRequest> run_request(sd_bus_message* call) {
    Given given;
    int status = sd_bus_message_enter_container(call, SD_BUS_TYPE_ARRAY, "{sv}");
    while (status >= 0 && (status = sd_bus_message_enter_container(call, SD_BUS_TYPE_DICT_ENTRY, "sv")) > 0) {
        if (const auto field = read_field(call, given); !field) {
            return tl::unexpected<ServiceError>(field.error());
        }
        status = sd_bus_message_exit_container(call);
    }
    return status < 0 ? Answer<RunRequest>(bus_failure(status)) : request_of(given);
}

}  // namespace

MethodAnswer start_run(GovernorBus& bus, const Caller& caller, sd_bus_message* call) {
    if (!bus.tell_when_left(caller)) {
        return has_left();
    }
    return run_request(call)
        .and_then([&](const RunRequest& request) { return bus.services().runs.start(caller, request); })
        .and_then([&](const std::string& run) { return reply(call, "s", run.c_str()); });
}

MethodAnswer stop_run(GovernorBus& bus, const Caller& caller, sd_bus_message* call) {
    return string_argument(call, "run")
        .and_then([&](const std::string& run) { return bus.services().runs.stop(caller, run); })
        .and_then([&](const FileDescriptor& trace) { return reply(call, "h", trace.get()); });
}

MethodAnswer run_facts(GovernorBus& bus, const Caller& caller, sd_bus_message* call) {
    return string_argument(call, "run")
        .and_then([&](const std::string& run) { return bus.services().runs.facts(caller, run); })
        .and_then([&](const std::string& document) { return reply(call, "s", document.c_str()); });
}

MethodAnswer device_key(GovernorBus& bus, const Caller& /*caller*/, sd_bus_message* call) {
    return bus.services().runs.device_key().and_then([&](const PublicKey& key) {
        auto answer = reply(call, "");
        const int status =
            answer ? sd_bus_message_append_array(answer->get(), SD_BUS_TYPE_BYTE, key.data(), key.size()) : 0;
        return status < 0 ? MethodAnswer(bus_failure(status)) : std::move(answer);
    });
}

const char* permission_to_run(GovernorBus& /*bus*/, const Caller& /*caller*/, sd_bus_message* /*call*/) {
    return "org.happe.governor1.run-study";
}

const char* permission_to_stop(GovernorBus& bus, const Caller& caller, sd_bus_message* call) {
    const char* run = nullptr;
    const bool own = sd_bus_message_read(call, "s", &run) >= 0 && bus.services().runs.owns(caller, run);
    sd_bus_message_rewind(call, 1);
    return own ? nullptr : "org.happe.governor1.run-study";
}

}  // namespace happe
