// SPDX-License-Identifier: GPL-2.0-or-later
// Changes options in this machine's happe.toml for an administrator, and makes happed read it: `keys set`, `mains set`.
#pragma once

#include "governor/happectl/setup/setup.h"

#include <functional>
#include <nlohmann/json.hpp>

namespace happe::ctl {

struct Changed {
    Configuration now;
    bool file = false;     // the file changed
    bool applied = false;  // happed has read it; false if happed does not run
};

// `command`, such as "keys set", is for the advice to use sudo. Calls `choose` with the file's options, once it is
// clear that the caller may change the file.
Outcome<Changed> change_options(const SetupOptions& options, std::string_view command,
                                const std::function<Outcome<Choices>(const Configuration&)>& choose);

// Prints the options as text or as JSON, and the changes.
void say_changed(const SetupOptions& options, const std::string& text, nlohmann::ordered_json json,
                 const Changed& changed);

}  // namespace happe::ctl
