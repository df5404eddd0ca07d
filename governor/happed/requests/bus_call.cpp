// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happed/requests/bus_call.h"

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

}  // namespace

Answer<std::string> text_argument(sd_bus_message* message, std::string_view name, std::size_t most) {
    std::string text = wire::Type<std::string>::read(message).value_or("");
    return text.size() > most ? refusal(Kind::LimitsExceeded, fmt::format("{}: longer than {} bytes", name, most))
                              : Answer<std::string>(std::move(text));
}

Answer<Key> key_argument(sd_bus_message* message, std::string_view name) {
    return text_argument(message, name, kLongestString).and_then([&](const std::string& given) -> Answer<Key> {
        const auto key = wire::KeyByName::from(given);
        return key ? Answer<Key>(*key)
                   : refusal(Kind::InvalidArgument, fmt::format("{}: neither \"performance\" nor \"power\"", name));
    });
}

void refuse(sd_bus_message* call, const ServiceError& error) {
    sd_bus_reply_method_errorf(call, error_name(error.kind), "%s", error.message.c_str());
}

void with_permission(const Call& call, const char* action, std::function<void()> go_on) {
    if (action == nullptr || call.caller.uid == 0) {
        go_on();
        return;
    }
    call.object.polkit().require(call.message.get(), call.caller.uid, action,
                                 [call, go_on = std::move(go_on)](const Answer<void>& allowed) {
                                     if (allowed) {
                                         go_on();
                                     } else {
                                         refuse(call.message.get(), allowed.error());
                                     }
                                 });
}

}  // namespace happe
