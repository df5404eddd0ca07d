// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "governor/bus/bus.h"
#include "governor/bus/callers.h"
#include "governor/bus/polkit.h"
#include "governor/bus/services.h"

#include <functional>
#include <string>
#include <tuple>
#include <vector>

namespace happe {

// The daemon's object on the system bus, of interface org.happe.Governor1 (daemon_interface.h).
class DaemonObject {
public:
    using Services = std::tuple<AttentionService&, ProfileService&, RunService&, SettingsService&, TallyService&>;

    // `shown` must outlive this; changed() says that it changed. `left` hears the unique names of those who held
    // something (a hold, the focus, a run) or wait for a key, and left the bus.
    DaemonObject(sd_bus* bus, Services services, const Shown& shown, std::function<void(const std::string&)> left);
    DaemonObject(const DaemonObject&) = delete;
    DaemonObject& operator=(const DaemonObject&) = delete;
    ~DaemonObject() = default;

    // Offers the interface and takes the name. An error if another has it or the bus does not allow it.
    [[nodiscard]] Status start();

    // Announces the properties that differ from what was announced before.
    void changed();
    // The same for those that a turn of the loop changes, which are private.
    void turned();
    void key_counted(Key key);

    // For the handlers, which are functions of their own.
    [[nodiscard]] const Services& services() const { return services_; }
    [[nodiscard]] const Shown& shown() const { return shown_; }
    [[nodiscard]] Polkit& polkit() { return polkit_; }
    // Nothing if the sender has left already.
    [[nodiscard]] const Caller* caller(sd_bus_message* message) { return callers_.of(message); }
    [[nodiscard]] bool may_see_private(sd_bus_message* message);
    // Only the owner of a blind run hears anything about its subject. In a sealed run, no client does.
    [[nodiscard]] bool may_see_profiles(const Caller& caller, const std::string& user) const;
    // As in Callers.
    [[nodiscard]] bool tell_when_left(const Caller& caller) { return callers_.tell_when_left(caller); }

private:
    sd_bus* bus_;
    Services services_;
    const Shown& shown_;
    Properties announced_;
    Polkit polkit_;
    Callers callers_;
    std::vector<sd_bus_vtable> table_;
    bus::Slot slot_;
};

}  // namespace happe
