// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/powerprofiles/governor_link.h"

#include "governor/bus/daemon_types.h"

#include <fmt/format.h>
#include <algorithm>
#include <utility>

namespace happe {
namespace {

constexpr const char* kPropertiesInterface = "org.freedesktop.DBus.Properties";
constexpr const char* kOwnerRule =
    "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',member='NameOwnerChanged',"
    "arg0='org.happe.Governor1'";

// A call to happed that does not start it.
bus::Message request(sd_bus* bus, const char* interface, const char* member) {
    bus::Message message;
    bus::take(message, [&](sd_bus_message** raw) {
        return sd_bus_message_new_method_call(bus, raw, kDaemonName, kDaemonPath, interface, member);
    });
    sd_bus_message_set_auto_start(message.get(), 0);
    return message;
}

template <typename T>
bool read_into(T& value, sd_bus_message* message) {
    auto read = wire::read_variant<T>(message);
    if (read) {
        value = *std::move(read);
    }
    return read.has_value();
}

}  // namespace

Status GovernorLink::start() {
    int status = bus::take(owner_, [this](sd_bus_slot** raw) {
        return sd_bus_add_match_async(bus_, raw, kOwnerRule, on_owner, nullptr, this);
    });
    if (status >= 0) {
        status = bus::take(changes_, [this](sd_bus_slot** raw) {
            return sd_bus_match_signal_async(bus_, raw, kDaemonName, kDaemonPath, kPropertiesInterface,
                                             "PropertiesChanged", on_changed, nullptr, this);
        });
    }
    if (status < 0) {
        return tl::unexpected<Error>(bus::error_of(status));
    }
    look();
    return {};
}

void GovernorLink::want(Wish wish) {
    wanted_ = std::move(wish);
    settle();
}

bool GovernorLink::limited() const {
    return std::ranges::any_of(limits_, [&](const PolicyLimits& limits) {
        const auto policy = std::ranges::find(seen_.policies, limits.policy, &Policy::id);
        return policy != seen_.policies.end() && limits.most < policy->ladder.top();
    });
}

// Makes one call at a time: releases the old wish before it asks for the new one.
void GovernorLink::settle() {
    if (!there_ || asking_ || run() || followed_ == wanted_) {
        return;
    }
    if (cookie_) {
        release();
    } else if (wanted_.profile == PowerProfile::Balanced) {
        followed_ = wanted_;
    } else {
        ask(wanted_.profile == PowerProfile::Performance ? method::kHold.name : method::kSavePower.name, wanted_);
    }
}

void GovernorLink::ask(const char* method, const Wish& wish) {
    const bus::Message message = request(bus_, kDaemonName, method);
    sd_bus_message_append(message.get(), "ss", wish.application.c_str(), wish.reason.c_str());
    followed_ = wish;  // even if happed refuses: asks only once
    if (auto asked = bus::call(bus_, message.get(), on_asked, this)) {
        asking_ = *std::move(asked);
    }
}

void GovernorLink::release() {
    const bus::Message message = request(bus_, kDaemonName, method::kRelease.name);
    sd_bus_message_append(message.get(), "u", *cookie_);
    cookie_.reset();
    followed_ = {};
    if (auto asked = bus::call(bus_, message.get(), on_released, this)) {
        asking_ = *std::move(asked);
    }
}

// The properties of happed, and whether it is running.
void GovernorLink::look() {
    const bus::Message message = request(bus_, kPropertiesInterface, "GetAll");
    sd_bus_message_append(message.get(), "s", kDaemonName);
    if (auto asked = bus::call(bus_, message.get(), on_seen, this)) {
        looking_ = *std::move(asked);
    }
}

bool GovernorLink::read(sd_bus_message* dictionary) {
    const bool good = wire::read_dictionary(dictionary, [&](const std::string& name) {
        if (name == "State") {
            return read_into(seen_.state, dictionary);
        }
        if (name == "Run") {
            return read_into(seen_.run, dictionary);
        }
        if (name == "Ladders") {
            return read_into(seen_.policies, dictionary);
        }
        return name == "Limits" ? read_into(seen_.limits, dictionary) : sd_bus_message_skip(dictionary, "v") >= 0;
    });
    if (seen_.state != "held") {
        limits_ = seen_.limits;
    }
    return good;
}

int GovernorLink::on_owner(sd_bus_message* message, void* data, sd_bus_error* /*error*/) {
    auto* const self = static_cast<GovernorLink*>(data);
    const char* owner = nullptr;
    if (sd_bus_message_skip(message, "ss") < 0 || sd_bus_message_read(message, "s", &owner) < 0) {
        return 0;
    }
    self->there_ = false;
    self->seen_ = {};
    self->limits_.clear();
    self->followed_ = {};
    self->cookie_.reset();
    self->asking_.reset();
    self->looking_.reset();
    if (*owner != '\0') {
        self->look();
    }
    self->hooks_.changed();
    return 0;
}

int GovernorLink::on_changed(sd_bus_message* message, void* data, sd_bus_error* /*error*/) {
    auto* const self = static_cast<GovernorLink*>(data);
    if (self->there_ && sd_bus_message_skip(message, "s") >= 0 && self->read(message)) {
        self->hooks_.changed();
        self->settle();
    }
    return 0;
}

int GovernorLink::on_seen(sd_bus_message* answer, void* data, sd_bus_error* /*error*/) {
    auto* const self = static_cast<GovernorLink*>(data);
    self->looking_.reset();
    self->there_ = sd_bus_message_is_method_error(answer, nullptr) == 0 && self->read(answer);
    self->hooks_.changed();
    self->settle();
    return 0;
}

int GovernorLink::on_asked(sd_bus_message* answer, void* data, sd_bus_error* /*error*/) {
    auto* const self = static_cast<GovernorLink*>(data);
    self->asking_.reset();
    if (sd_bus_message_is_method_error(answer, nullptr) != 0) {
        self->hooks_.failed(Error{fmt::format("happed does not follow the profile {}: {}",
                                              name_of(self->followed_.profile), bus::error_of(answer).message)});
    } else {
        self->cookie_ = wire::Type<std::uint32_t>::read(answer);
    }
    self->settle();
    return 0;
}

// happed no longer follows the old wish, whatever it answers.
int GovernorLink::on_released(sd_bus_message* /*answer*/, void* data, sd_bus_error* /*error*/) {
    auto* const self = static_cast<GovernorLink*>(data);
    self->asking_.reset();
    self->settle();
    return 0;
}

}  // namespace happe
