// SPDX-License-Identifier: GPL-2.0-or-later
// Calls happed: org.happe.Governor1. Each error says what the person can do next.
#pragma once

#include "governor/bus/daemon_types.h"
#include "governor/happectl/bus.h"
#include "governor/happectl/outcome.h"

namespace happe::ctl {

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
