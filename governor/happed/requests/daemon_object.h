// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "governor/bus/bus.h"
#include "governor/bus/daemon_interface.h"

#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace happe {

class AttentionRequests;
class DayTally;
class ProfileRequests;
class RunRequests;
class SettingsRequests;

// The properties, and who may see the private ones: the served user and root; during a blind run only its owner; during
// a sealed run nobody.
struct Shown : Properties {
    std::optional<uid_t> served_uid;
    bool blind = false;       // a blind or sealed run is on
    std::string run_viewer;   // the bus name of a blind run's owner; empty: nobody
    std::string run_subject;  // the subject of the run, as the database names it; empty: no run

    // True for the subject, and for its names that end with a condition.
    [[nodiscard]] bool is_run_subject(const std::string& name) const {
        return !run_subject.empty() && name == run_subject;
    }
};

// The daemon's object on the system bus, of interface org.happe.Governor1 (daemon_interface.h).
class DaemonObject {
public:
    using Requests = std::tuple<AttentionRequests&, ProfileRequests&, RunRequests&, SettingsRequests&, DayTally&>;

    // `shown` must outlive the object; call changed() after changing it. Calls `left` with the unique name when a
    // caller leaves the bus that has a hold, the focus or a run, or waits for a key.
    DaemonObject(sd_bus* bus, Requests requests, const Shown& shown, std::function<void(const std::string&)> left);
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
    [[nodiscard]] const Requests& requests() const { return requests_; }
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
    Requests requests_;
    const Shown& shown_;
    Properties announced_;
    Polkit polkit_;
    Callers callers_;
    std::vector<sd_bus_vtable> table_;
    bus::Slot slot_;
};

}  // namespace happe
