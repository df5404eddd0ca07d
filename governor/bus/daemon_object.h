// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "governor/bus/bus.h"
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

    // `shown` must outlive the object; call changed() after changing it. Calls `left` with the unique name when a
    // caller leaves the bus that has a hold, the focus or a run, or waits for a key.
    DaemonObject(sd_bus* bus, Services services, const Shown& shown, std::function<void(const std::string&)> left);
    DaemonObject(const DaemonObject&) = delete;
    DaemonObject& operator=(const DaemonObject&) = delete;
    ~DaemonObject() = default;

    // Offers the interface and takes the name. An error if another program has the name or the bus forbids it.
    [[nodiscard]] Status start();

    // Announces the properties that have changed since the last announcement.
    void changed();
    // Does the same for the private properties, which a turn of the loop changes.
    void turned();
    void key_counted(Key key);

    // For the handlers, which are free functions.
    [[nodiscard]] const Services& services() const { return services_; }
    [[nodiscard]] const Shown& shown() const { return shown_; }
    [[nodiscard]] Polkit& polkit() { return polkit_; }
    // See Callers::of().
    [[nodiscard]] const Caller* caller(sd_bus_message* message) { return callers_.of(message); }
    [[nodiscard]] bool may_see_private(sd_bus_message* message);
    // Only the owner of a blind run may see its subject's profiles. In a sealed run, no client may.
    [[nodiscard]] bool may_see_profiles(const Caller& caller, const std::string& user) const;
    // See Callers.
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
