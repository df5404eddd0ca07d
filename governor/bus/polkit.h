// SPDX-License-Identifier: GPL-2.0-or-later
// May the sender of a message do this? Asked of polkit, which may ask a person: org.freedesktop.PolicyKit1.Authority.
#pragma once

#include "governor/bus/bus.h"
#include "governor/bus/service_error.h"

#include <sys/types.h>
#include <cstddef>
#include <functional>
#include <list>

namespace happe {

class Polkit {
public:
    // A question keeps its message, and the descriptors in it, for as long as a person thinks about it.
    static constexpr std::size_t kMostWaiting = 24;

    explicit Polkit(sd_bus* bus) : bus_(bus) {}
    Polkit(const Polkit&) = delete;
    Polkit& operator=(const Polkit&) = delete;
    ~Polkit() = default;

    // Asks about the message's sender, a process of this user's; `answered` is called once, later. An Error: polkit
    // could not be asked, which is no permission. The person is asked only if the message allows it.
    void ask(sd_bus_message* message, uid_t user, const char* action,
             std::function<void(Result<bool> allowed)> answered);

    // The same in terms of a service: a refusal says why. Refuses a user with too many questions without an answer.
    void require(sd_bus_message* message, uid_t user, const char* action, std::function<void(Answer<void>)> answered);

private:
    struct Question {
        Polkit* polkit;
        uid_t user;
        std::function<void(Result<bool>)> answered;
        bus::Slot slot;
        std::list<Question>::iterator place;
    };
    [[nodiscard]] std::size_t waiting_of(uid_t user) const;
    static int on_answer(sd_bus_message* answer, void* data, sd_bus_error* error);

    sd_bus* bus_;
    std::list<Question> questions_;  // stable addresses
};

}  // namespace happe
