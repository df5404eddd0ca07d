// SPDX-License-Identifier: GPL-2.0-or-later
// A line on standard error. It may hold codes; never a token, a name, an answer, or what a run's condition shows.
#pragma once

#include <string>

namespace happe::study {

void log(const std::string& line);

}  // namespace happe::study
