// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/bus/bus.h"

#include <fmt/format.h>
#include <algorithm>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

namespace happe::bus {

Error error_of(sd_bus_message* answer) {
    const sd_bus_error* const error = sd_bus_message_get_error(answer);
    if (error == nullptr) {
        return {"no error"};
    }
    return {fmt::format("{}: {}", error->name, error->message != nullptr ? error->message : "no message")};
}

Error error_of(int negative_errno) {
    return {std::generic_category().message(-negative_errno)};
}

int find_owner(sd_bus* bus, const char* name) {
    Credentials owner;
    return take(owner, [&](sd_bus_creds** raw) { return sd_bus_get_name_creds(bus, name, 0, raw); });
}

std::string owner_changes(std::string_view name) {
    return fmt::format(
        "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',member='NameOwnerChanged',"
        "arg0='{}'",
        name);
}

std::string property_changes(std::string_view service, std::string_view path) {
    return fmt::format(
        "type='signal',sender='{}',interface='org.freedesktop.DBus.Properties',member='PropertiesChanged',path='{}'",
        service, path);
}

int watch(Slot& slot, sd_bus* bus, const std::string& rule, sd_bus_message_handler_t handler, void* self) {
    return take(slot, [&](sd_bus_slot** raw) {
        return sd_bus_add_match_async(bus, raw, rule.c_str(), handler, nullptr, self);
    });
}

}  // namespace happe::bus

namespace happe {

namespace {

constexpr std::size_t kMostCallers = 256;  // in memory; beyond this, asks the bus again

}  // namespace

const Caller* Callers::of(sd_bus_message* message) {
    const char* const name = sd_bus_message_get_sender(message);
    if (name == nullptr) {
        return nullptr;
    }
    if (const auto known = callers_.find(name); known != callers_.end()) {
        return &known->second;
    }
    bus::Credentials credentials;
    Caller caller{.bus_name = name};
    if (bus::take(credentials,
                  [&](sd_bus_creds** raw) {
                      return sd_bus_query_sender_creds(message, SD_BUS_CREDS_EUID | SD_BUS_CREDS_PID, raw);
                  }) < 0 ||
        sd_bus_creds_get_euid(credentials.get(), &caller.uid) < 0 ||
        sd_bus_creds_get_pid(credentials.get(), &caller.pid) < 0) {
        return nullptr;
    }
    if (callers_.size() >= kMostCallers) {
        callers_.clear();
    }
    return &callers_.emplace(name, caller).first->second;
}

bool Callers::tell_when_left(const Caller& caller) {
    if (watched_.contains(caller.bus_name)) {
        return true;
    }
    bus::Slot watch;
    bus::watch(watch, bus_, bus::owner_changes(caller.bus_name), on_left, this);
    // The bus answers in order. So if the caller is still there now, the watch above will see it leave.
    if (!watch || bus::find_owner(bus_, caller.bus_name.c_str()) < 0) {
        return false;
    }
    watched_.emplace(caller.bus_name, std::move(watch));
    return true;
}

int Callers::on_left(sd_bus_message* message, void* data, sd_bus_error* /*error*/) {
    auto* const self = static_cast<Callers*>(data);
    const char* name = nullptr;
    if (sd_bus_message_read(message, "s", &name) >= 0) {
        const std::string left = name;
        self->callers_.erase(left);
        self->left_(left);
        self->watched_.erase(left);
    }
    return 0;
}

namespace {

constexpr std::uint64_t kAnswerUs = 300'000'000;  // a person types a password meanwhile
constexpr std::uint32_t kMayAskPerson = 1;        // AllowUserInteraction

// CheckAuthorization((sa{sv}) subject, s action_id, a{ss} details, u flags, s cancellation_id) -> (bba{ss})
Result<bus::Message> question(sd_bus* bus, sd_bus_message* about, const char* action) {
    bus::Message message;
    int status = bus::take(message, [&](sd_bus_message** raw) {
        return sd_bus_message_new_method_call(bus, raw, "org.freedesktop.PolicyKit1",
                                              "/org/freedesktop/PolicyKit1/Authority",
                                              "org.freedesktop.PolicyKit1.Authority", "CheckAuthorization");
    });
    if (status >= 0) {
        const bool interactive = sd_bus_message_get_allow_interactive_authorization(about) > 0;
        status =
            sd_bus_message_append(message.get(), "(sa{sv})sa{ss}us", "system-bus-name", 1, "name", "s",
                                  sd_bus_message_get_sender(about), action, 0, interactive ? kMayAskPerson : 0U, "");
    }
    if (status < 0) {
        return tl::unexpected<Error>(bus::error_of(status));
    }
    return message;
}

tl::unexpected<ServiceError> denied(std::string why) {
    return refusal(ServiceError::Kind::AccessDenied, std::move(why));
}

tl::unexpected<ServiceError> unasked(const Error& error) {
    return denied("polkit cannot be asked: " + error.message);
}

Answer<void> read(sd_bus_message* answer, const char* action) {
    if (sd_bus_message_is_method_error(answer, nullptr) != 0) {
        return unasked(bus::error_of(answer));
    }
    int allowed = 0;
    int challenge = 0;
    int status = sd_bus_message_enter_container(answer, SD_BUS_TYPE_STRUCT, "bba{ss}");
    if (status >= 0) {
        status = sd_bus_message_read(answer, "bb", &allowed, &challenge);
    }
    if (status < 0) {
        return unasked(bus::error_of(status));
    }
    return allowed != 0 ? Answer<void>() : denied(fmt::format("polkit does not allow {}", action));
}

}  // namespace

void Polkit::require(sd_bus_message* message, uid_t user, const char* action,
                     std::function<void(Answer<void>)> answered) {
    if (waiting_of(user) >= kMostWaiting) {
        answered(refusal(ServiceError::Kind::LimitsExceeded, "too many of your calls wait for polkit"));
        return;
    }
    const auto asked = question(bus_, message, action);
    if (!asked) {
        answered(unasked(asked.error()));
        return;
    }
    questions_.push_front({this, user, action, std::move(answered), nullptr, {}});
    const auto place = questions_.begin();
    place->place = place;
    const int status = bus::take(place->slot, [&](sd_bus_slot** raw) {
        return sd_bus_call_async(bus_, raw, asked->get(), on_answer, &*place, kAnswerUs);
    });
    if (status < 0) {
        const auto tell = std::move(place->answered);
        questions_.erase(place);
        tell(unasked(bus::error_of(status)));
    }
}

std::size_t Polkit::waiting_of(uid_t user) const {
    return static_cast<std::size_t>(std::ranges::count(questions_, user, &Question::user));
}

int Polkit::on_answer(sd_bus_message* answer, void* data, sd_bus_error* /*error*/) {
    auto* const asked = static_cast<Question*>(data);
    const auto tell = std::move(asked->answered);
    const char* const action = asked->action;
    asked->polkit->questions_.erase(asked->place);
    tell(read(answer, action));
    return 0;
}

}  // namespace happe
