// SPDX-License-Identifier: GPL-2.0-or-later
// Reads and writes this machine's happe.toml for an administrator.
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
    std::string text;  // the shipped text if there is no file
    Configuration configured;
};

// The error has a line for each mistake in the file. Does not check whether the keys can be bound.
Outcome<OwnConfiguration> read_own_configuration(const Root& root);

// True if the file changed. The old file stays until the new one is on the disk. Keeps a symbolic link.
Outcome<bool> write_own_configuration(const OwnConfiguration& before, const std::string& text);

}  // namespace happe::ctl
