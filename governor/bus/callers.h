// SPDX-License-Identifier: GPL-2.0-or-later
// Identifies callers by the bus's credentials, and notices when they leave the bus.
#pragma once

#include "governor/bus/bus.h"

#include <sys/types.h>
#include <functional>
#include <map>
#include <string>

namespace happe {

struct Caller {
    std::string bus_name;  // its unique name, which the bus never uses again
    uid_t uid = 0;
    pid_t pid = 0;
};

class Callers {
public:
    // Calls `left` with the unique name when a caller named to tell_when_left() leaves.
    Callers(sd_bus* bus, std::function<void(const std::string&)> left) : bus_(bus), left_(std::move(left)) {}
    Callers(const Callers&) = delete;
    Callers& operator=(const Callers&) = delete;
    ~Callers() = default;

    // Null if the sender has left already, or if the bus does not know its user or process. The pointer stays valid
    // until the next call.
    [[nodiscard]] const Caller* of(sd_bus_message* message);

    // From now on the object calls `left` when this caller leaves. False if it has left already. Call this before you
    // store anything for the caller; otherwise it may leave in between, and the data would stay.
    [[nodiscard]] bool tell_when_left(const Caller& caller);

private:
    static int on_left(sd_bus_message* message, void* data, sd_bus_error* error);

    sd_bus* bus_;
    std::function<void(const std::string&)> left_;
    std::map<std::string, Caller> callers_;
    std::map<std::string, bus::Slot> watched_;
};

}  // namespace happe
