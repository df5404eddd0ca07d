// SPDX-License-Identifier: GPL-2.0-or-later
// This machine's happe.toml, as an administrator changes it.
#pragma once

#include "governor/documents/configuration.h"
#include "governor/happectl/doctor/machine.h"
#include "governor/happectl/outcome.h"

#include <filesystem>
#include <string>

namespace happe::ctl {

struct OwnConfiguration {
    std::filesystem::path file;
    bool exists = false;
    std::string text;  // without a file the shipped one
    Configuration configured;
};

// Of a file with mistakes the error has a line for each. Whether its keys can be bound is not looked at.
Outcome<OwnConfiguration> read_own_configuration(const Root& root);

// Whether the file changed. The old one stays until the new one is on the disk; a symbolic link stays one.
Outcome<bool> write_own_configuration(const OwnConfiguration& before, const std::string& text);

}  // namespace happe::ctl
