// SPDX-License-Identifier: GPL-2.0-or-later
// Owning pointers to objects of sd-bus (sd-bus(3)); who calls, and whether polkit lets them.
#pragma once

#include "governor/bus/service_error.h"
#include "governor/core/result.h"

#include <sys/types.h>
#include <systemd/sd-bus.h>
#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>

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

// Rules for watch(): the name gets or loses an owner; properties of the object change.
std::string owner_changes(std::string_view name);
std::string property_changes(std::string_view service, std::string_view path);

// Passes each signal that matches the rule to `handler`, with `self`, until the slot ends. Does not wait for the bus.
// Negative if the bus accepts no watch.
int watch(Slot& slot, sd_bus* bus, const std::string& rule, sd_bus_message_handler_t handler, void* self);

}  // namespace happe::bus

namespace happe {

// Identifies callers by the bus's credentials, and notices when they leave the bus.
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

// Asks polkit whether the sender of a message may do something. polkit may ask a person:
// org.freedesktop.PolicyKit1.Authority.
class Polkit {
public:
    // For each user: a question keeps its message, and the descriptors in it, until the person answers.
    static constexpr std::size_t kMostWaiting = 24;

    explicit Polkit(sd_bus* bus) : bus_(bus) {}
    Polkit(const Polkit&) = delete;
    Polkit& operator=(const Polkit&) = delete;
    ~Polkit() = default;

    // Asks about the message's sender, a process of `user`. Calls `answered` once, later or at once; a refusal has the
    // reason, and comes also if polkit does not answer, or if this user has too many questions without an answer.
    // polkit asks a person only if the message allows it.
    void require(sd_bus_message* message, uid_t user, const char* action, std::function<void(Answer<void>)> answered);

private:
    struct Question {
        Polkit* polkit;
        uid_t user;
        const char* action;
        std::function<void(Answer<void>)> answered;
        bus::Slot slot;
        std::list<Question>::iterator place;
    };
    [[nodiscard]] std::size_t waiting_of(uid_t user) const;
    static int on_answer(sd_bus_message* answer, void* data, sd_bus_error* error);

    sd_bus* bus_;
    std::list<Question> questions_;  // stable addresses
};

}  // namespace happe
