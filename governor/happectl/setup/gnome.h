// SPDX-License-Identifier: GPL-2.0-or-later
// HAPPE's extension in the GNOME of the person who called happectl.
#pragma once

#include "governor/happectl/doctor/machine.h"
#include "governor/happectl/outcome.h"

#include <sys/types.h>
#include <string>

namespace happe::ctl {

// A file of the package happe-gnome-shell-extension.
inline const std::filesystem::path kExtension =
    "usr/share/gnome-shell/extensions/happe@happe.org/metadata.json";  // below a Root

// The person who called happectl by sudo or pkexec.
struct Caller {
    std::string name;
    std::string home;
    uid_t uid = 0;
    gid_t gid = 0;
    std::filesystem::path runtime;  // the folder with the socket of the session bus
};

struct Gnome {
    Caller caller;
    bool declined = false;  // the person has switched the extension off
};

// The error says why setup cannot switch the extension.
Outcome<Gnome> find_gnome(const Root& root);

// Switches the extension on or off in the caller's settings, as GNOME Shell's own EnableExtension does.
Outcome<bool> switch_extension(const Gnome& gnome, bool on);

}  // namespace happe::ctl
