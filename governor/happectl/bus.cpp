// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happectl/bus.h"

#include <fmt/format.h>
#include <cstring>
#include <new>

namespace happe::ctl {
namespace {

// Owns an error of sd-bus, and frees it.
class CallError {
public:
    CallError() = default;
    CallError(const CallError&) = delete;
    CallError& operator=(const CallError&) = delete;
    ~CallError() { sd_bus_error_free(&error_); }

    [[nodiscard]] sd_bus_error* get() { return &error_; }
    [[nodiscard]] BusError value() const {
        return {error_.name != nullptr ? error_.name : "", error_.message != nullptr ? error_.message : ""};
    }

private:
    sd_bus_error error_{};
};

}  // namespace

Outcome<Bus> Bus::open() {
    sd_bus* bus = nullptr;
    if (const int error = sd_bus_open_system(&bus); error < 0) {
        return trouble(
            EX_UNAVAILABLE,
            fmt::format("the system bus does not answer: {}; start it (systemctl start dbus), or run this on the "
                        "machine rather than in a container",
                        std::strerror(-error)));
    }
    return Bus(bus);
}

Message Bus::request(const Address& to, const char* member) const {
    sd_bus_message* message = nullptr;
    if (sd_bus_message_new_method_call(bus_.get(), &message, to.service.c_str(), to.path.c_str(), to.interface.c_str(),
                                       member) < 0) {
        throw std::bad_alloc();  // the names are constants
    }
    sd_bus_message_set_auto_start(message, 0);
    sd_bus_message_set_allow_interactive_authorization(message, 1);
    return Message(message);
}

BusAnswer<Message> Bus::send(const Message& request, std::chrono::microseconds patience) {
    CallError error;
    sd_bus_message* answer = nullptr;
    const auto limit = static_cast<std::uint64_t>(patience.count());
    if (const int result = sd_bus_call(bus_.get(), request.get(), limit, error.get(), &answer); result < 0) {
        if (sd_bus_error_is_set(error.get()) == 0) {
            sd_bus_error_set_errno(error.get(), result);
        }
        return tl::unexpected<BusError>(error.value());
    }
    return Message(answer);
}

BusAnswer<Message> Bus::get(const Address& of, const char* name) {
    const Message message = request(of.properties(), "Get");
    sd_bus_message_append(message.get(), "ss", of.interface.c_str(), name);
    return send(message, kPrompt);
}

tl::unexpected<BusError> Bus::unreadable(sd_bus_message* answer) {
    return tl::unexpected<BusError>(
        {kUnreadable, fmt::format("an answer that cannot be read: {}", sd_bus_message_get_signature(answer, 1))});
}

}  // namespace happe::ctl
