// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/study/words/log.h"

#include <cstdio>

namespace happe::study {

void log(const std::string& line) {
    std::fputs(("happe-study: " + line + "\n").c_str(), stderr);
}

}  // namespace happe::study
