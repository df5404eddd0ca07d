// SPDX-License-Identifier: GPL-2.0-or-later
// Writes traces and decisions, each a line with its newline: docs/traces.md.
#pragma once

#include "governor/core/turn_observer.h"
#include "governor/documents/trace_reader.h"

#include <string>

namespace happe {

std::string header_line(const TraceHeader& header);
std::string observation_line(const Turn& turn, std::optional<PowerSource> source = {});
std::string decision_line(const Turn& turn);

}  // namespace happe
