// SPDX-License-Identifier: GPL-2.0-or-later
// The methods of a study's runs.
#include "governor/adapters/governor_bus_answers.h"

#include <fmt/format.h>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace happe {
namespace {

using Kind = ServiceError::Kind;

// The field of this name; null if it is of another type.
std::string* text_field(RunRequest& request, std::string_view name) {
    if (name == "condition") {
        return &request.condition;
    }
    if (name == "subject") {
        return &request.subject;
    }
    return name == "application" ? &request.application : nullptr;
}

std::optional<std::uint32_t>* number_field(RunRequest& request, std::string_view name) {
    if (name == "sampling_rate_us") {
        return &request.sampling_rate_us;
    }
    return name == "up_threshold" ? &request.up_threshold : nullptr;
}

Answer<void> read_text(sd_bus_message* call, std::string_view name, std::string& field) {
    const char* text = nullptr;
    field = sd_bus_message_read(call, "v", "s", &text) < 0 ? "" : text;
    if (field.empty() || field.size() > kLongestString) {
        return refusal(Kind::InvalidArgument, fmt::format("{}: not a string of 1 to {} bytes", name, kLongestString));
    }
    return {};
}

// One entry of StartRun's dictionary.
Answer<void> read_field(sd_bus_message* call, RunRequest& request) {
    const char* key = nullptr;
    if (const int status = sd_bus_message_read(call, "s", &key); status < 0) {
        return bus_failure(status);
    }
    const std::string_view name = key;
    if (std::string* const text = text_field(request, name); text != nullptr) {
        return read_text(call, name, *text);
    }
    int status = 0;
    if (auto* const number = number_field(request, name); number != nullptr) {
        status = sd_bus_message_read(call, "v", "u", &number->emplace());
    } else if (name == "blind") {
        int flag = 0;
        status = sd_bus_message_read(call, "v", "b", &flag);
        request.blind = flag != 0;
    } else {
        return refusal(Kind::InvalidArgument, fmt::format("{}: unknown", name.substr(0, kLongestString)));
    }
    return status < 0 ? Answer<void>(refusal(Kind::InvalidArgument, fmt::format("{}: of another type", name)))
                      : Answer<void>();
}

Answer<RunRequest> run_request(sd_bus_message* call) {
    RunRequest request;
    int status = sd_bus_message_enter_container(call, SD_BUS_TYPE_ARRAY, "{sv}");
    while (status >= 0 && (status = sd_bus_message_enter_container(call, SD_BUS_TYPE_DICT_ENTRY, "sv")) > 0) {
        if (const auto field = read_field(call, request); !field) {
            return tl::unexpected<ServiceError>(field.error());
        }
        status = sd_bus_message_exit_container(call);
    }
    if (status < 0) {
        return bus_failure(status);
    }
    return request;
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

MethodAnswer stop_run(GovernorBus& bus, const Caller& /*caller*/, sd_bus_message* call) {
    return string_argument(call, "run")
        .and_then([&](const std::string& run) { return bus.services().runs.stop(run); })
        .and_then([&](const FileDescriptor& trace) { return reply(call, "h", trace.get()); });
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
