// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdio>
#include <string>

namespace happe::study {

// Writes a line on standard error. It may have codes, but never a token, a name, an answer, or a hint at a condition.
inline void log(const std::string& line) {
    std::fputs(("happe-study: " + line + "\n").c_str(), stderr);
}

}  // namespace happe::study
