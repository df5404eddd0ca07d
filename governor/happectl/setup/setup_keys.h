// SPDX-License-Identifier: GPL-2.0-or-later
// A key that is pressed while happed need not run: happed-keys is asked as happed would.
#pragma once

#include "governor/happectl/outcome.h"

#include <string>

namespace happe::ctl {

// The name of the first key without text that is pressed. Waits half a minute at most.
Outcome<std::string> learn_key_by(const std::string& socket_path);

}  // namespace happe::ctl
