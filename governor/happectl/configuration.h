// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "governor/documents/configuration.h"
#include "governor/happectl/outcome.h"

#include <string>

namespace happe::ctl {

// The configuration in a file, "-" being standard input. EX_DATAERR is a configuration with mistakes, one a line.
Outcome<Configuration> configuration_in(const std::string& path);

}  // namespace happe::ctl
