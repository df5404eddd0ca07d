// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "governor/documents/configuration.h"

#include <filesystem>

namespace happe {

// The configuration in a file, with keys that can be bound and told apart. Without a file the defaults.
Result<Configuration> load_configuration(const std::filesystem::path& path);

}  // namespace happe
