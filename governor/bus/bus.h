// SPDX-License-Identifier: GPL-2.0-or-later
// Owning pointers to objects of sd-bus (sd-bus(3)).
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
using Slot = std::unique_ptr<sd_bus_slot, Released<&sd_bus_slot_unref>>;  // a call, match or object: ends with its slot
using Credentials = std::unique_ptr<sd_bus_creds, Released<&sd_bus_creds_unref>>;

// Takes ownership of the object that a call of sd-bus returns through `T**`. Returns the call's status.
template <typename Owner, typename Call>
int take(Owner& owner, Call&& call) {
    typename Owner::pointer raw = nullptr;
    const int status = std::forward<Call>(call)(&raw);
    owner.reset(raw);
    return status;
}

// The error in words: "NAME: TEXT" of an error answer, or the text of a negative errno.
Error error_of(sd_bus_message* answer);
Error error_of(int negative_errno);

// Not negative if a program has this name on the bus; -ENXIO if none has.
int find_owner(sd_bus* bus, const char* name);

// Calls a method without waiting. Passes the answer or error to `answered`, with `self`. Destroying the slot cancels
// the call.
Result<Slot> call(sd_bus* bus, sd_bus_message* message, sd_bus_message_handler_t answered, void* self);

}  // namespace happe::bus
