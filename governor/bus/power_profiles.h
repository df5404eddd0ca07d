// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "governor/bus/bus.h"

#include <array>
#include <functional>
#include <string>

namespace happe {

// Follows the power profile of power-profiles-daemon, tuned-ppd or tlp-pd, which share a name on the bus; older ones
// have only the second name. Never starts such a daemon.
class PowerProfiles {
public:
    static constexpr const char* kPerformance = "performance";
    static constexpr const char* kPowerSaver = "power-saver";

    // The bus's event loop calls `changed` after anything below has changed.
    PowerProfiles(sd_bus* bus, std::function<void()> changed);
    PowerProfiles(const PowerProfiles&) = delete;
    PowerProfiles& operator=(const PowerProfiles&) = delete;
    ~PowerProfiles() = default;

    // True if such a daemon runs now.
    [[nodiscard]] static bool has_daemon(sd_bus* bus);

    // Soon learns the profile. An error if the bus accepts no watch.
    [[nodiscard]] Status start();

    [[nodiscard]] bool has_daemon() const { return has_daemon_; }
    // Empty without a daemon; "unknown" while a daemon has not told it.
    [[nodiscard]] const std::string& active() const { return active_; }

private:
    static int on_signal(sd_bus_message* message, void* self, sd_bus_error* error);
    static int on_profile(sd_bus_message* answer, void* self, sd_bus_error* error);
    void ask(std::size_t name);
    void become(bool has_daemon, std::string active);

    sd_bus* bus_;
    std::function<void()> changed_;
    bool has_daemon_;
    std::string active_;
    std::size_t asked_ = 0;  // the name whose owner has been asked
    std::array<bus::Slot, 4> watches_;
    bus::Slot question_;
};

}  // namespace happe
