// SPDX-License-Identifier: GPL-2.0-or-later
// Drives the loop by a trace instead of a machine.
#pragma once

#include "governor/core/result.h"

#include <istream>
#include <ostream>
#include <string>

namespace happe {

// Prints a decision for each observation: docs/traces.md. Stops at the first bad line, after the decisions before it.
Status replay(std::istream& trace, const std::string& name, std::ostream& decisions);

}  // namespace happe
