// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "governor/documents/configuration.h"

#include <filesystem>

namespace happe {

// Reads a configuration file, and checks that happed can bind both keys and that they differ. Returns the defaults if
// there is no file.
Result<Configuration> load_configuration(const std::filesystem::path& path);

}  // namespace happe
