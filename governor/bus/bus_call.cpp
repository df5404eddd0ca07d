// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/bus/bus_call.h"

#include <fmt/format.h>

namespace happe {
namespace {

using Kind = ServiceError::Kind;

const char* error_name(Kind kind) {
    switch (kind) {
        case Kind::AccessDenied:
            return SD_BUS_ERROR_ACCESS_DENIED;
        case Kind::InvalidArgument:
            return SD_BUS_ERROR_INVALID_ARGS;
        case Kind::LimitsExceeded:
            return SD_BUS_ERROR_LIMITS_EXCEEDED;
        case Kind::NotActive:
            return "org.happe.Governor1.Error.NotActive";
        case Kind::NotFound:
            return "org.happe.Governor1.Error.NotFound";
        case Kind::Busy:
            return "org.happe.Governor1.Error.Busy";
        case Kind::Failed:
            return "org.happe.Governor1.Error.Failed";
    }
    return SD_BUS_ERROR_FAILED;
}

template <typename T>
Answer<T> read(sd_bus_message* message, std::string_view name, const char* expected) {
    auto value = wire::Type<T>::read(message);
    return value ? Answer<T>(*std::move(value)) : refusal(Kind::InvalidArgument, fmt::format("{}: {}", name, expected));
}

Answer<std::string> read_text(sd_bus_message* message, std::string_view name, std::size_t most) {
    return read<std::string>(message, name, "no string").and_then([&](std::string&& text) -> Answer<std::string> {
        return text.size() > most ? refusal(Kind::LimitsExceeded, fmt::format("{}: longer than {} bytes", name, most))
                                  : Answer<std::string>(std::move(text));
    });
}

}  // namespace

template <>
Answer<std::string> argument(sd_bus_message* message, std::string_view name) {
    return read_text(message, name, kLongestString);
}
template <>
Answer<ProfilesText> argument(sd_bus_message* message, std::string_view name) {
    return read_text(message, name, kLongestDocument).map([](std::string&& text) {
        return ProfilesText{std::move(text)};
    });
}
template <>
Answer<Key> argument(sd_bus_message* message, std::string_view name) {
    return argument<std::string>(message, name).and_then([&](const std::string& given) -> Answer<Key> {
        const auto key = wire::KeyByName::from(given);
        return key ? Answer<Key>(*key)
                   : refusal(Kind::InvalidArgument, fmt::format("{}: neither \"performance\" nor \"power\"", name));
    });
}
template <>
Answer<RunRequest> argument(sd_bus_message* message, std::string_view /*name*/) {
    return read_run_request(message);
}
template <>
Answer<FileDescriptor> argument(sd_bus_message* message, std::string_view name) {
    return read<FileDescriptor>(message, name, "no descriptor");
}
template <>
Answer<std::uint32_t> argument(sd_bus_message* message, std::string_view name) {
    return read<std::uint32_t>(message, name, "no number");
}
template <>
Answer<std::int64_t> argument(sd_bus_message* message, std::string_view name) {
    return read<std::int64_t>(message, name, "no number");
}

void refuse(sd_bus_message* call, const ServiceError& error) {
    sd_bus_reply_method_errorf(call, error_name(error.kind), "%s", error.message.c_str());
}

void with_permission(const Call& call, const char* action, std::function<void()> go_on) {
    if (action == nullptr || call.caller.uid == 0) {
        go_on();
        return;
    }
    Polkit& polkit = call.object.polkit();
    if (polkit.waiting_of(call.caller.uid) >= Polkit::kMostWaiting) {
        refuse(call.message.get(), {Kind::LimitsExceeded, "too many of your calls wait for polkit"});
        return;
    }
    polkit.ask(
        call.message.get(), call.caller.uid, action,
        [call, action, go_on = std::move(go_on)](const Result<bool>& allowed) {
            if (!allowed) {
                refuse(call.message.get(), {Kind::AccessDenied, "polkit cannot be asked: " + allowed.error().message});
            } else if (!*allowed) {
                refuse(call.message.get(), {Kind::AccessDenied, fmt::format("polkit does not allow {}", action)});
            } else {
                go_on();
            }
        });
}

}  // namespace happe
