// SPDX-License-Identifier: GPL-2.0-or-later
// What sd-bus hands out, owned (sd-bus(3)).
#pragma once

#include "governor/core/result.h"

#include <systemd/sd-bus.h>
#include <memory>
#include <string>

namespace happe::bus {

template <auto Release>
struct Released {
    template <typename T>
    void operator()(T* object) const {
        Release(object);
    }
};
using Connection = std::unique_ptr<sd_bus, Released<&sd_bus_flush_close_unref>>;
using Message = std::unique_ptr<sd_bus_message, Released<&sd_bus_message_unref>>;
using Slot = std::unique_ptr<sd_bus_slot, Released<&sd_bus_slot_unref>>;  // what was asked for ends with it
using Credentials = std::unique_ptr<sd_bus_creds, Released<&sd_bus_creds_unref>>;

// Takes what a call of sd-bus returned through `T**`.
template <typename Owner, typename Call>
int take(Owner& owner, Call&& call) {
    typename Owner::pointer raw = nullptr;
    const int status = std::forward<Call>(call)(&raw);
    owner.reset(raw);
    return status;
}

// The message of a call's failure: "NAME: TEXT" of an answer, or of a negative errno.
Error error_of(sd_bus_message* answer);
Error error_of(int negative_errno);

// Calls a method without waiting; `answered` gets the answer, an error too, with `self`. The call is dropped with the
// slot.
Result<Slot> call(sd_bus* bus, sd_bus_message* message, sd_bus_message_handler_t answered, void* self);

}  // namespace happe::bus
