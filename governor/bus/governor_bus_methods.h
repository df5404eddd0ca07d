// SPDX-License-Identifier: GPL-2.0-or-later
// The methods of org.happe.Governor1: each reads its arguments and asks a service. docs/dbus.md has them in this order.
#pragma once

#include "governor/bus/governor_bus.h"

namespace happe {

// The answer to send; null: it is sent later.
using MethodAnswer = Answer<bus::Message>;
using Method = MethodAnswer (*)(GovernorBus& bus, const Caller& caller, sd_bus_message* call);

// The polkit action that the call needs; null if none.
using Permission = const char* (*)(GovernorBus& bus, const Caller& caller, sd_bus_message* call);

MethodAnswer feedback(GovernorBus& bus, const Caller& caller, sd_bus_message* call);
MethodAnswer set_focus(GovernorBus& bus, const Caller& caller, sd_bus_message* call);
MethodAnswer clear_focus(GovernorBus& bus, const Caller& caller, sd_bus_message* call);
MethodAnswer hold(GovernorBus& bus, const Caller& caller, sd_bus_message* call);
MethodAnswer release(GovernorBus& bus, const Caller& caller, sd_bus_message* call);
MethodAnswer list_profiles(GovernorBus& bus, const Caller& caller, sd_bus_message* call);
MethodAnswer get_profile(GovernorBus& bus, const Caller& caller, sd_bus_message* call);
MethodAnswer list_events(GovernorBus& bus, const Caller& caller, sd_bus_message* call);
MethodAnswer reset_profile(GovernorBus& bus, const Caller& caller, sd_bus_message* call);
MethodAnswer export_profiles(GovernorBus& bus, const Caller& caller, sd_bus_message* call);
MethodAnswer import_profiles(GovernorBus& bus, const Caller& caller, sd_bus_message* call);
MethodAnswer start_run(GovernorBus& bus, const Caller& caller, sd_bus_message* call);
MethodAnswer stop_run(GovernorBus& bus, const Caller& caller, sd_bus_message* call);
MethodAnswer run_facts(GovernorBus& bus, const Caller& caller, sd_bus_message* call);
MethodAnswer device_key(GovernorBus& bus, const Caller& caller, sd_bus_message* call);
MethodAnswer learn_key(GovernorBus& bus, const Caller& caller, sd_bus_message* call);
MethodAnswer reload(GovernorBus& bus, const Caller& caller, sd_bus_message* call);

inline const char* no_permission(GovernorBus& /*bus*/, const Caller& /*caller*/, sd_bus_message* /*call*/) {
    return nullptr;
}
const char* permission_to_hold(GovernorBus& bus, const Caller& caller, sd_bus_message* call);
const char* permission_for_user(GovernorBus& bus, const Caller& caller, sd_bus_message* call);
const char* permission_to_run(GovernorBus& bus, const Caller& caller, sd_bus_message* call);
const char* permission_to_stop(GovernorBus& bus, const Caller& caller, sd_bus_message* call);
const char* permission_to_configure(GovernorBus& bus, const Caller& caller, sd_bus_message* call);

// Finds out who calls, gets permission, calls, answers.
int answer_call(GovernorBus& bus, sd_bus_message* call, Method method, Permission permission);

template <Method method, Permission permission = no_permission>
int on_call(sd_bus_message* call, void* bus, sd_bus_error* /*error*/) {
    return answer_call(*static_cast<GovernorBus*>(bus), call, method, permission);
}

}  // namespace happe
