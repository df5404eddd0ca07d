// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "governor/adapters/configuration.h"
#include "governor/app/happectl/outcome.h"

#include <string>

namespace happe::ctl {

// The configuration in a file, "-" being standard input. EX_DATAERR is a configuration with mistakes, one a line.
Outcome<Configuration> configuration_in(const std::string& path);

}  // namespace happe::ctl
