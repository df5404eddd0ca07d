// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/bus/governor_bus_answers.h"

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

tl::unexpected<ServiceError> bus_failure(int status) {
    return refusal(Kind::Failed, bus::error_of(status).message);
}

tl::unexpected<ServiceError> has_left() {
    return refusal(Kind::AccessDenied, "you have left the bus");
}

void send_answer(sd_bus_message* call, const MethodAnswer& answer) {
    if (!answer) {
        sd_bus_reply_method_errorf(call, error_name(answer.error().kind), "%s", answer.error().message.c_str());
    } else if (*answer) {
        sd_bus_send(nullptr, answer->get(), nullptr);
    }
}

MethodAnswer reply(sd_bus_message* call, const Answer<void>& done) {
    return done ? reply(call, "") : MethodAnswer(tl::unexpected<ServiceError>(done.error()));
}

Answer<std::string> string_argument(sd_bus_message* call, const char* name, std::size_t most) {
    const char* text = nullptr;
    if (const int status = sd_bus_message_read(call, "s", &text); status < 0) {
        return bus_failure(status);
    }
    std::string value = text;
    if (value.size() > most) {
        return refusal(Kind::LimitsExceeded, fmt::format("{}: longer than {} bytes", name, most));
    }
    return value;
}

}  // namespace happe
