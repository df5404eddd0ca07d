// SPDX-License-Identifier: GPL-2.0-or-later
// Reads and writes this machine's happe.toml for an administrator.
#pragma once

#include "governor/documents/configuration.h"
#include "governor/happectl/doctor/machine.h"
#include "governor/happectl/outcome.h"
#include "governor/happectl/setup/setup_text.h"

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

struct WrittenConfiguration {
    std::filesystem::path file;
    bool changed = false;  // false if the file had these options already
};

// Sets options in the file as it is now, and keeps the rest. Waits while another happectl changes it. The old file
// stays until the new one is on the disk. Keeps a symbolic link.
Outcome<WrittenConfiguration> change_own_configuration(const Root& root, const Choices& choices);

}  // namespace happe::ctl
