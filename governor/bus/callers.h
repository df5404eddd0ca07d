// SPDX-License-Identifier: GPL-2.0-or-later
// Who calls a service on the bus, by the bus's credentials, and when they leave.
#pragma once

#include "governor/bus/bus.h"

#include <sys/types.h>
#include <functional>
#include <map>
#include <string>

namespace happe {

struct Caller {
    std::string bus_name;  // unique: never given to another
    uid_t uid = 0;
    pid_t pid = 0;
};

class Callers {
public:
    // `left` hears the unique names of those for whom tell_when_left() was called, and who left the bus.
    Callers(sd_bus* bus, std::function<void(const std::string&)> left) : bus_(bus), left_(std::move(left)) {}
    Callers(const Callers&) = delete;
    Callers& operator=(const Callers&) = delete;
    ~Callers() = default;

    // Nothing if the sender has left already.
    [[nodiscard]] const Caller* of(sd_bus_message* message);

    // From now on `left` hears when the caller leaves. False if it has left already. Call this before you store
    // anything for the caller: if it left in between, nobody would remove that.
    [[nodiscard]] bool tell_when_left(const Caller& caller);

private:
    static int on_left(sd_bus_message* message, void* data, sd_bus_error* error);

    sd_bus* bus_;
    std::function<void(const std::string&)> left_;
    std::map<std::string, Caller> callers_;
    std::map<std::string, bus::Slot> watched_;
};

}  // namespace happe
