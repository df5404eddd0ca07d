// SPDX-License-Identifier: GPL-2.0-or-later
// The properties of org.happe.Governor1: docs/dbus.md.
#pragma once

#include "governor/bus/governor_bus.h"

namespace happe {

const char* key_name(Key key);  // "performance" or "power"

// Each appends one property's value; negative errno.
using Show = int (*)(const Shown& shown, sd_bus_message* reply);
int show_version(const Shown& shown, sd_bus_message* reply);
int show_backend(const Shown& shown, sd_bus_message* reply);
int show_ladders(const Shown& shown, sd_bus_message* reply);
int show_state(const Shown& shown, sd_bus_message* reply);
int show_reason(const Shown& shown, sd_bus_message* reply);
int show_settings(const Shown& shown, sd_bus_message* reply);
int show_keyboards(const Shown& shown, sd_bus_message* reply);
int show_holds(const Shown& shown, sd_bus_message* reply);
int show_run(const Shown& shown, sd_bus_message* reply);
int show_indicator(const Shown& shown, sd_bus_message* reply);
int show_targets(const Shown& shown, sd_bus_message* reply);
int show_user(const Shown& shown, sd_bus_message* reply);
int show_application(const Shown& shown, sd_bus_message* reply);
int show_profile(const Shown& shown, sd_bus_message* reply);
int show_sample(const Shown& shown, sd_bus_message* reply);

int append_khz(sd_bus_message* reply, const Uafp& uafp);  // au

template <Show show>
int get(sd_bus* /*bus*/, const char* /*path*/, const char* /*interface*/, const char* /*property*/,
        sd_bus_message* reply, void* self, sd_bus_error* /*error*/) {
    return show(static_cast<GovernorBus*>(self)->shown(), reply);
}

// Empty for those who may not see it.
template <Show show>
int get_private(sd_bus* bus, const char* /*path*/, const char* /*interface*/, const char* /*property*/,
                sd_bus_message* reply, void* data, sd_bus_error* /*error*/) {
    auto* const self = static_cast<GovernorBus*>(data);
    return show(self->may_see_private(sd_bus_get_current_message(bus)) ? self->shown() : Shown{}, reply);
}

}  // namespace happe
