// SPDX-License-Identifier: GPL-2.0-or-later
// The power profiles on the system bus, under both names that desktops know.
#pragma once

#include "governor/bus/bus.h"
#include "governor/bus/callers.h"
#include "governor/bus/polkit.h"
#include "governor/powerprofiles/governor_link.h"
#include "governor/powerprofiles/profile_choice.h"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace happe {

class ProfilesObject {
public:
    // `file` stores the chosen profile. Calls `failed` with errors that have no caller to report to.
    ProfilesObject(sd_bus* bus, std::filesystem::path file, std::function<void(const Error&)> failed);
    ProfilesObject(const ProfilesObject&) = delete;
    ProfilesObject& operator=(const ProfilesObject&) = delete;
    ~ProfilesObject() = default;

    // Reads the chosen profile, offers both interfaces and takes both names. An error if another program has one of
    // them.
    [[nodiscard]] Status start();

    // For the handlers, which are free functions.
    struct Shown {
        std::string active;
        std::string degraded;
        ProfileChoice::Holds holds;
    };
    [[nodiscard]] const Shown& shown() const { return shown_; }

private:
    static int on_message(sd_bus_message* message, void* data, sd_bus_error* error);
    static int on_release(sd_bus_message* message, void* data, sd_bus_error* error);
    static int on_hold(sd_bus_message* message, void* data, sd_bus_error* error);
    static std::vector<sd_bus_vtable> interface_table(bool legacy);

    // Calls `act` and answers the message if polkit allows the action; otherwise answers with the refusal.
    void with_permission(sd_bus_message* message, const char* action, std::function<void(sd_bus_message*)> act);
    void choose(sd_bus_message* message, PowerProfile profile);
    void hold(sd_bus_message* message, ProfileHold wanted);
    void keep_choice();
    void ended(const ProfileChoice::Holds& holds);
    void changed();

    sd_bus* bus_;
    std::filesystem::path file_;
    std::function<void(const Error&)> failed_;
    ProfileChoice choice_{PowerProfile::Balanced};
    Shown shown_;
    Callers callers_;
    Polkit polkit_;
    GovernorLink governor_;
    std::vector<std::vector<sd_bus_vtable>> tables_;
    std::vector<bus::Slot> slots_;
};

}  // namespace happe
