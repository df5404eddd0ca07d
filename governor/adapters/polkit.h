// SPDX-License-Identifier: GPL-2.0-or-later
// May the sender of a message do this? Asked of polkit, which may ask a person: org.freedesktop.PolicyKit1.Authority.
#pragma once

#include "governor/adapters/bus.h"

#include <functional>
#include <list>

namespace happe {

class Polkit {
public:
    explicit Polkit(sd_bus* bus) : bus_(bus) {}
    Polkit(const Polkit&) = delete;
    Polkit& operator=(const Polkit&) = delete;
    ~Polkit() = default;

    // Asks about the message's sender; `answered` is called once, later. An Error: polkit could not be asked, which is
    // no permission. The person is asked only if the message allows it.
    void ask(sd_bus_message* message, const char* action, std::function<void(Result<bool> allowed)> answered);

private:
    struct Question {
        Polkit* polkit;
        std::function<void(Result<bool>)> answered;
        bus::Slot slot;
        std::list<Question>::iterator place;
    };
    static int on_answer(sd_bus_message* answer, void* question, sd_bus_error* error);

    sd_bus* bus_;
    std::list<Question> questions_;  // stable addresses
};

}  // namespace happe
