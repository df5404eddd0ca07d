// SPDX-License-Identifier: GPL-2.0-or-later
// Asks polkit whether the sender of a message may do something. polkit may ask a person:
// org.freedesktop.PolicyKit1.Authority.
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
    // For each user: a question keeps its message, and the descriptors in it, until the person answers.
    static constexpr std::size_t kMostWaiting = 24;

    explicit Polkit(sd_bus* bus) : bus_(bus) {}
    Polkit(const Polkit&) = delete;
    Polkit& operator=(const Polkit&) = delete;
    ~Polkit() = default;

    // Asks about the message's sender, a process of `user`. Calls `answered` once, later. An Error means that polkit
    // did not answer: treat it as a refusal. polkit asks a person only if the message allows it.
    void ask(sd_bus_message* message, uid_t user, const char* action,
             std::function<void(Result<bool> allowed)> answered);

    // Does the same, but returns a refusal with the reason. Refuses a user who has too many questions without an
    // answer.
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
