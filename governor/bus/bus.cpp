// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/bus/bus.h"

#include <fmt/format.h>
#include <system_error>

namespace happe::bus {

Error error_of(sd_bus_message* answer) {
    const sd_bus_error* const error = sd_bus_message_get_error(answer);
    if (error == nullptr) {
        return {"no error"};
    }
    return {fmt::format("{}: {}", error->name, error->message != nullptr ? error->message : "no message")};
}

Error error_of(int negative_errno) {
    return {std::generic_category().message(-negative_errno)};
}

int find_owner(sd_bus* bus, const char* name) {
    Credentials owner;
    return take(owner, [&](sd_bus_creds** raw) { return sd_bus_get_name_creds(bus, name, 0, raw); });
}

Result<Slot> call(sd_bus* bus, sd_bus_message* message, sd_bus_message_handler_t answered, void* self) {
    Slot slot;
    const int status =
        take(slot, [&](sd_bus_slot** raw) { return sd_bus_call_async(bus, raw, message, answered, self, 0); });
    return status < 0 ? Result<Slot>(tl::unexpected<Error>(error_of(status))) : Result<Slot>(std::move(slot));
}

}  // namespace happe::bus
