// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happectl/bus.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <string_view>

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

const Address kDaemon{kDaemonName, kDaemonPath, kDaemonName};

namespace {

constexpr std::string_view kAbsent =
    "happed is not running: sudo systemctl start happed; `happectl doctor` says what keeps it from starting";
constexpr std::string_view kSilent = "happed does not answer: systemctl status happed; journalctl -u happed -b";
constexpr std::string_view kGone = "the connection to the system bus or to happed broke: systemctl status happed";
constexpr std::string_view kOther = "happed and happectl do not understand each other; are both of one version?";

// The meaning of an error. If `explanation` is empty, happectl shows the daemon's message; if it ends with ": ", the
// message follows.
struct Meaning {
    std::string_view name;
    int status;
    std::string_view explanation;
    std::string_view advice;
};

constexpr std::array kMeanings = {
    Meaning{"org.freedesktop.DBus.Error.ServiceUnknown", EX_UNAVAILABLE, kAbsent, ""},
    Meaning{"org.freedesktop.DBus.Error.NameHasNoOwner", EX_UNAVAILABLE, kAbsent, ""},
    Meaning{"org.freedesktop.DBus.Error.NoReply", EX_UNAVAILABLE, kSilent, ""},
    Meaning{"org.freedesktop.DBus.Error.Timeout", EX_UNAVAILABLE, kSilent, ""},
    Meaning{"System.Error.ETIMEDOUT", EX_UNAVAILABLE, kSilent, ""},
    Meaning{"org.freedesktop.DBus.Error.Disconnected", EX_UNAVAILABLE, kGone, ""},
    Meaning{"System.Error.ECONNRESET", EX_UNAVAILABLE, kGone, ""},
    Meaning{"System.Error.ENOTCONN", EX_UNAVAILABLE, kGone, ""},
    Meaning{"System.Error.EPIPE", EX_UNAVAILABLE, kGone, ""},
    Meaning{"org.freedesktop.DBus.Error.UnknownMethod", EX_PROTOCOL, kOther, ""},
    Meaning{"org.freedesktop.DBus.Error.UnknownInterface", EX_PROTOCOL, kOther, ""},
    Meaning{"org.freedesktop.DBus.Error.UnknownObject", EX_PROTOCOL, kOther, ""},
    Meaning{kUnreadable, EX_PROTOCOL, kOther, ""},
    Meaning{"org.freedesktop.DBus.Error.AccessDenied", EX_NOPERM, "not allowed: ", "an administrator may (sudo)"},
    Meaning{"org.freedesktop.DBus.Error.InteractiveAuthorizationRequired", EX_NOPERM,
            "not allowed: ", "nobody could be asked for a password here: use sudo"},
    Meaning{"org.freedesktop.DBus.Error.InvalidArgs", EX_DATAERR, "", ""},
    Meaning{"org.freedesktop.DBus.Error.LimitsExceeded", EX_DATAERR, "", ""},
    Meaning{"org.happe.Governor1.Error.NotActive", EX_NOPERM, "", "it is for whoever is served: happectl status"},
    Meaning{"org.happe.Governor1.Error.NotFound", EX_NOINPUT, "", ""},
    Meaning{"org.happe.Governor1.Error.Busy", EX_TEMPFAIL, "", "try again when it is over: happectl status"},
    Meaning{"org.happe.Governor1.Error.Failed", EX_IOERR, "", "journalctl -u happed -b has more"},
};

}  // namespace

Trouble explain(const BusError& error) {
    const auto* const found = std::ranges::find(kMeanings, std::string_view(error.name), &Meaning::name);
    if (found == kMeanings.end()) {
        return {EX_UNAVAILABLE, fmt::format("happed: {} ({})", error.message, error.name)};
    }
    const bool own_words = found->explanation.empty() || found->explanation.ends_with(": ");
    std::string message(found->explanation);
    message += own_words ? error.message : "";
    message += found->advice.empty() ? "" : fmt::format("; {}", found->advice);
    return {found->status, message};
}

Outcome<DaemonProxy> DaemonProxy::connect() {
    return Bus::open().map([](Bus&& bus) { return DaemonProxy(std::move(bus)); });
}

Outcome<Properties> DaemonProxy::properties(std::chrono::microseconds patience) {
    Properties known;
    // A later happed has properties that this program does not know.
    const auto read = bus_.properties(kDaemon, patience, [&](const std::string& name, sd_bus_message* message) {
        bool found = false;
        bool good = true;
        const auto take = [&](const auto& property) {
            if (name == property.name) {
                auto& value = known.*property.kMember;
                auto given = wire::read_variant<std::remove_reference_t<decltype(value)>>(message);
                found = true;
                good = given.has_value();
                value = std::move(given).value_or(std::remove_reference_t<decltype(value)>());
            }
        };
        std::apply([&](const auto&... property) { (take(property), ...); }, kDaemonProperties);
        return found ? good : sd_bus_message_skip(message, "v") >= 0;
    });
    if (read && known.state.empty()) {
        return tl::unexpected<Trouble>(explain({kUnreadable, ""}));
    }
    return read.map([&] { return std::move(known); }).map_error(explain);
}

}  // namespace happe::ctl
