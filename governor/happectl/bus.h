// SPDX-License-Identifier: GPL-2.0-or-later
// A client's calls on the system bus, and their answers.
#pragma once

#include "governor/bus/bus.h"
#include "governor/bus/daemon_types.h"
#include "governor/bus/wire.h"
#include "governor/happectl/outcome.h"

#include <systemd/sd-bus.h>
#include <chrono>
#include <string>
#include <type_traits>
#include <utility>

namespace happe::ctl {

using bus::Message;
using bus::Slot;

// A service, an object and an interface on the bus.
struct Address {
    std::string service;
    std::string path;
    std::string interface;

    [[nodiscard]] Address properties() const { return {service, path, "org.freedesktop.DBus.Properties"}; }
};

struct BusError {
    std::string name;  // org.freedesktop.DBus.Error.AccessDenied
    std::string message;
};
template <typename T>
using BusAnswer = tl::expected<T, BusError>;

// Our own error: the answer has an unexpected type.
inline constexpr const char* kUnreadable = "org.happe.Client.Error.Unreadable";

// The time for a program to answer, and for a person to type a password.
inline constexpr std::chrono::seconds kPrompt{25};
inline constexpr std::chrono::seconds kAskingSomebody{120};

class Bus {
public:
    // An error if there is no bus.
    static Outcome<Bus> open();

    // Calls a method and returns the answer's first value. wire.h gives the D-Bus types of the C++ values. The call
    // starts no program, but polkit may ask the person at the machine for a password.
    template <typename T, typename... A>
    BusAnswer<T> call(std::chrono::microseconds patience, const Address& to, const char* member,
                      const A&... arguments) {
        const Message message = request(to, member);
        if (!(wire::Type<A>::append(message.get(), arguments) && ... && true)) {
            return tl::unexpected<BusError>(
                BusError{SD_BUS_ERROR_INVALID_ARGS, "the call does not fit into a message"});
        }
        return send(message, patience).and_then([](const Message& answer) { return first<T>(answer.get()); });
    }

    template <typename T>
    BusAnswer<T> property(const Address& of, const char* name) {
        return get(of, name).and_then([](const Message& answer) {
            auto value = wire::read_variant<T>(answer.get());
            return value ? BusAnswer<T>(*std::move(value)) : unreadable(answer.get());
        });
    }

    // Reads all properties of an interface. take(name, message) reads or skips each variant, or returns false to stop.
    template <typename Take>
    BusAnswer<void> properties(const Address& of, std::chrono::microseconds patience, const Take& take) {
        const Message message = request(of.properties(), "GetAll");
        wire::Type<std::string>::append(message.get(), of.interface);
        return send(message, patience).and_then([&](const Message& answer) -> BusAnswer<void> {
            const bool good =
                wire::read_dictionary(answer.get(), [&](const std::string& name) { return take(name, answer.get()); });
            return good ? BusAnswer<void>() : unreadable(answer.get());
        });
    }

    [[nodiscard]] sd_bus* get() const { return bus_.get(); }

private:
    explicit Bus(sd_bus* bus) : bus_(bus) {}

    [[nodiscard]] Message request(const Address& to, const char* member) const;
    BusAnswer<Message> send(const Message& request, std::chrono::microseconds patience);
    BusAnswer<Message> get(const Address& of, const char* name);
    static tl::unexpected<BusError> unreadable(sd_bus_message* answer);

    template <typename T>
    static BusAnswer<T> first(sd_bus_message* answer) {
        if constexpr (std::is_void_v<T>) {
            return sd_bus_message_at_end(answer, 1) > 0 ? BusAnswer<T>() : unreadable(answer);
        } else {
            auto value = wire::Type<T>::read(answer);
            return value ? BusAnswer<T>(*std::move(value)) : unreadable(answer);
        }
    }

    bus::Connection bus_;
};

// Calls happed: org.happe.Governor1. Each error says what the person can do next.

extern const Address kDaemon;

// Explains an error of happed to the person at the shell.
Trouble explain(const BusError& error);

class DaemonProxy {
public:
    // An error if there is no bus. If happed is missing, the first call fails.
    static Outcome<DaemonProxy> connect();

    // The private properties are empty if happed serves nobody, or if this caller must not see them.
    Outcome<Properties> properties(std::chrono::microseconds patience = kPrompt);

    // call(method::kHold, "make", "busy"): a method of daemon_interface.h. Waits while a person types a password.
    template <typename R, typename... A>
    Outcome<R> call(const Method<R, A...>& method, const std::type_identity_t<A>&... arguments) {
        return call_within(kAskingSomebody, method, arguments...);
    }
    template <typename R, typename... A>
    Outcome<R> call_within(std::chrono::microseconds patience, const Method<R, A...>& method,
                           const std::type_identity_t<A>&... arguments) {
        return bus_.call<R>(patience, kDaemon, method.name, arguments...).map_error(explain);
    }

    [[nodiscard]] Bus& bus() { return bus_; }

private:
    explicit DaemonProxy(Bus bus) : bus_(std::move(bus)) {}

    Bus bus_;
};

// Connects to happed and calls `act`.
template <typename Do>
Outcome<int> with_daemon(const Do& act) {
    auto daemon = DaemonProxy::connect();
    return daemon ? act(*daemon) : pass_on(daemon);
}

}  // namespace happe::ctl
