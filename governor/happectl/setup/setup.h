// SPDX-License-Identifier: GPL-2.0-or-later
// happectl setup: setup.cpp looks and acts, setup_talk.cpp decides with the person.
#pragma once

#include "governor/happectl/doctor/machine.h"
#include "governor/happectl/setup/gnome.h"
#include "governor/happectl/setup/own_configuration.h"
#include "governor/happectl/setup/setup_text.h"

#include <optional>
#include <string>
#include <vector>

namespace happe::ctl {

struct SetupOptions {
    bool json = false;
    bool yes = false;
    bool stop_others = false;
    KeyPair keys;
    std::string mode;
    std::string autostart;  // "on", "off"; empty if not given
    std::string extension;  // like autostart
    Root root = "/";
    [[nodiscard]] bool of_this_machine() const { return root == "/"; }
};

// The state before setup asks anything.
struct SetupFindings {
    Findings findings;
    std::vector<std::string> rivals;  // units of other programs that set frequencies
    OwnConfiguration own;
    std::string devices;  // input devices, the text of /proc/bus/input/devices
    bool has_indicator = false;
    bool indicator_starts = true;  // with the desktop: the present setting, or the proposal of a first setup
    Outcome<Gnome> gnome = Gnome();
};

// The work to do.
struct Plan {
    Decided decided;
    std::vector<std::string> stopped;  // units of other programs
    bool has_indicator = false;
    bool autostart = false;
    std::optional<Gnome> gnome;
    bool extension = false;  // the wanted state of the extension in `gnome`
};

// Decides by the options, and asks the person about the rest, unless --yes.
Outcome<Plan> decide(const SetupOptions& options, const SetupFindings& machine);

std::string as_text(const Plan& plan);

[[nodiscard]] bool has_systemctl();

// Runs systemctl, with --root unless it is for this machine. Its messages go to standard error.
Outcome<bool> systemctl(const SetupOptions& options, std::vector<std::string> words);

// Enables, starts and stops the units. False if systemd does not run here, as in a chroot: then it only enables them.
Outcome<bool> do_with_units(const SetupOptions& options, const Plan& plan);

// Switches GNOME's extension. If that fails, says so and removes it from the plan, because the rest of setup has
// succeeded.
void do_with_gnome(Plan& plan);

// Returns the keys if happed can bind both and they differ.
Outcome<KeyPair> checked(const KeyPair& keys);

// Asks for one key after the other, and takes the first pressed key that types no text. happed need not run: starts the
// socket of happed-keys and asks happed-keys as happed would.
Outcome<KeyPair> pressed_keys(const SetupOptions& options);

}  // namespace happe::ctl
