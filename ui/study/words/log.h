// SPDX-License-Identifier: GPL-2.0-or-later
// Writes a line on standard error. It may have codes, but never a token, a name, an answer, or a hint at a condition.
#pragma once

#include <string>

namespace happe::study {

void log(const std::string& line);

}  // namespace happe::study
