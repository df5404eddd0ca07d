// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/bus/callers.h"

#include <fmt/format.h>

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
    const std::string rule = fmt::format(
        "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',member='NameOwnerChanged',"
        "arg0='{}'",
        caller.bus_name);
    bus::Slot watch;
    bus::take(watch, [&](sd_bus_slot** raw) {
        return sd_bus_add_match_async(bus_, raw, rule.c_str(), on_left, nullptr, this);
    });
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

}  // namespace happe
