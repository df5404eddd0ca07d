// SPDX-License-Identifier: GPL-2.0-or-later
// happectl setup, from looking to doing: ctl_setup.cpp looks, ctl_setup_talk.cpp decides with the person,
// ctl_setup_actions.cpp does it.
#pragma once

#include "governor/happectl/doctor/machine.h"
#include "governor/happectl/setup/own_configuration.h"
#include "governor/happectl/setup/setup_text.h"

#include <string>
#include <vector>

namespace happe::ctl {

struct SetupOptions {
    bool json = false;
    bool yes = false;
    bool stop_others = false;
    KeyPair keys;
    std::string mode;
    std::string autostart;  // "on", "off"; empty if not said
    Root root = "/";
    [[nodiscard]] bool of_this_machine() const { return root == "/"; }
};

// The state before setup asks anything.
struct SetupFindings {
    Findings findings;
    std::vector<std::string> rivals;  // units of other programs that set frequencies
    OwnConfiguration own;
    std::string devices;  // of input, as the kernel lists them
    bool has_indicator = false;
    bool indicator_starts = true;  // with the desktop: as it is if this was set up before, else it is proposed
};

// The work to do.
struct Plan {
    Decided decided;
    std::vector<std::string> stopped;  // units of other programs
    bool has_indicator = false;
    bool autostart = false;
};

// As the options say, and the person where they leave something open, unless --yes.
Outcome<Plan> decide(const SetupOptions& options, const SetupFindings& machine);

std::string as_text(const Plan& plan);

// Runs it, with --root if that is not this machine's. Its messages go to standard error.
Outcome<bool> systemctl(const SetupOptions& options, std::vector<std::string> words);

// False if systemd does not run here, as in a chroot: units are then enabled only.
Outcome<bool> do_with_units(const SetupOptions& options, const Plan& plan);

}  // namespace happe::ctl
