// SPDX-License-Identifier: GPL-2.0-or-later
// Asks happed to follow a power profile: a hold for performance, one step lower for power-saver.
#pragma once

#include "governor/bus/bus.h"
#include "governor/bus/daemon_interface.h"
#include "governor/powerprofiles/profile_choice.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace happe {

class GovernorLink {
public:
    struct Wish {
        PowerProfile profile = PowerProfile::Balanced;
        std::string application;
        std::string reason;
        bool operator==(const Wish&) const = default;
    };

    // Calls `changed` when run() or limited() may have another answer, and `failed` with each refusal by happed.
    struct Hooks {
        std::function<void()> changed;
        std::function<void(const Error&)> failed;
    };
    GovernorLink(sd_bus* bus, Hooks hooks) : bus_(bus), hooks_(std::move(hooks)) {}
    GovernorLink(const GovernorLink&) = delete;
    GovernorLink& operator=(const GovernorLink&) = delete;
    ~GovernorLink() = default;

    [[nodiscard]] Status start();

    // Asks happed to follow this wish: now, whenever happed starts, and when a run ends.
    void want(Wish wish);

    [[nodiscard]] bool run() const { return !seen_.run.empty(); }  // a study's run is on; no profile changes it
    // True if another program or the kernel keeps a policy below its top. While HAPPE steps aside, happed does not
    // look: then the last state it saw counts.
    [[nodiscard]] bool limited() const;

private:
    void settle();
    void ask(const char* method, const Wish& wish);
    void release();
    void look();
    [[nodiscard]] bool read(sd_bus_message* dictionary);
    static int on_owner(sd_bus_message* message, void* data, sd_bus_error* error);
    static int on_changed(sd_bus_message* message, void* data, sd_bus_error* error);
    static int on_seen(sd_bus_message* answer, void* data, sd_bus_error* error);
    static int on_asked(sd_bus_message* answer, void* data, sd_bus_error* error);
    static int on_released(sd_bus_message* answer, void* data, sd_bus_error* error);

    sd_bus* bus_;
    Hooks hooks_;
    Properties seen_;                   // only State, Run, Ladders and Limits
    std::vector<PolicyLimits> limits_;  // the newest ones that happed saw
    Wish wanted_;
    Wish followed_;                        // the last wish that we asked happed to follow
    std::optional<std::uint32_t> cookie_;  // our hold's in happed; balanced needs no hold
    bool there_ = false;                   // happed is on the bus, and we know its properties
    bus::Slot owner_;
    bus::Slot changes_;
    bus::Slot looking_;
    bus::Slot asking_;  // a call without an answer
};

}  // namespace happe
