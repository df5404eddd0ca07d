// SPDX-License-Identifier: GPL-2.0-or-later
// The system bus, seen by a client: calls and answers.
#pragma once

#include "governor/bus/bus.h"
#include "governor/happectl/outcome.h"
#include "governor/happectl/wire.h"

#include <systemd/sd-bus.h>
#include <chrono>
#include <string>

namespace happe::ctl {

using bus::Message;
using bus::Slot;

// An interface of an object of a program on the bus.
struct Address {
    std::string service;
    std::string path;
    std::string interface;
};

struct BusError {
    std::string name;  // org.freedesktop.DBus.Error.AccessDenied
    std::string message;
};
template <typename T>
using Answer = tl::expected<T, BusError>;

// The name of an error that is ours: the answer has another type than expected.
inline constexpr const char* kUnreadable = "org.happe.Client.Error.Unreadable";

// How long a program may think, and a person who is asked for a password.
inline constexpr std::chrono::seconds kPrompt{25};
inline constexpr std::chrono::seconds kAskingSomebody{120};

class Bus {
public:
    // An error says that the bus isn't there.
    static Outcome<Bus> open();

    // A call that starts no program and may ask the person at the machine for a password (polkit).
    [[nodiscard]] Message request(const Address& to, const char* member) const;
    Answer<Message> send(const Message& request, std::chrono::microseconds patience = kPrompt);

    // `types` and arguments as sd_bus_message_append(3) has them; the answer's first value.
    template <typename T, typename... Arguments>
    Answer<T> call(const Address& to, const char* member, const char* types, Arguments... arguments) {
        const Message message = request(to, member);
        if (const int error = sd_bus_message_append(message.get(), types, arguments...); error < 0) {
            return tl::unexpected<BusError>(local_error(error));
        }
        return first<T>(send(message));
    }

    template <typename T>
    Answer<T> property(const Address& of, const char* name) {
        const Address properties{of.service, of.path, "org.freedesktop.DBus.Properties"};
        const Message message = request(properties, "Get");
        sd_bus_message_append(message.get(), "ss", of.interface.c_str(), name);
        const auto answer = send(message);
        T value{};
        if (!answer) {
            return tl::unexpected<BusError>(answer.error());
        }
        return wire::read_variant(answer->get(), value) ? Answer<T>(std::move(value)) : unreadable(name);
    }

    template <typename T>
    static Answer<T> first(const Answer<Message>& answer) {
        T value{};
        if (!answer) {
            return tl::unexpected<BusError>(answer.error());
        }
        return wire::read(answer->get(), value) ? Answer<T>(std::move(value))
                                                : unreadable(sd_bus_message_get_signature(answer->get(), 1));
    }

    static tl::unexpected<BusError> unreadable(const char* what);
    static BusError local_error(int error);

    [[nodiscard]] sd_bus* get() const { return bus_.get(); }

private:
    explicit Bus(sd_bus* bus) : bus_(bus) {}

    bus::Connection bus_;
};

}  // namespace happe::ctl
