// SPDX-License-Identifier: GPL-2.0-or-later
// What the methods of org.happe.Governor1 read their arguments and write their answers with.
#pragma once

#include "governor/bus/governor_bus_methods.h"

#include <cstddef>
#include <string>

namespace happe {

inline constexpr std::size_t kLongestString = 255;

// What sd-bus refuses to read or write: a client that sends another signature never gets this far.
tl::unexpected<ServiceError> bus_failure(int status);

tl::unexpected<ServiceError> has_left();

// The next argument, a string of at most so many bytes.
Answer<std::string> string_argument(sd_bus_message* call, const char* name, std::size_t most = kLongestString);

template <typename... Values>
MethodAnswer reply(sd_bus_message* call, const char* types, Values... values) {
    bus::Message message;
    int status = bus::take(message, [&](sd_bus_message** raw) { return sd_bus_message_new_method_return(call, raw); });
    if (status >= 0 && *types != '\0') {
        status = sd_bus_message_append(message.get(), types, values...);
    }
    if (status < 0) {
        return bus_failure(status);
    }
    return message;
}

MethodAnswer reply(sd_bus_message* call, const Answer<void>& done);

void send_answer(sd_bus_message* call, const MethodAnswer& answer);

}  // namespace happe
