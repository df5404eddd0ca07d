// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "governor/documents/configuration.h"
#include "governor/happectl/outcome.h"

#include <string>

namespace happe::ctl {

// Reads a configuration from a file; "-" is standard input. EX_DATAERR: it has mistakes, one on each line of the
// message.
Outcome<Configuration> configuration_in(const std::string& path);

}  // namespace happe::ctl
