// SPDX-License-Identifier: GPL-2.0-or-later
// What the build embeds in every program with a command line (cmake/Embed.cmake).
#pragma once

#include <string_view>

namespace happe::embedded {

// profiles/python/src/happe_cli/completion.bash. The words before the one at the cursor tell the command; an option's
// value may come after `=`, which bash splits off.
std::string_view completion_bash();

}  // namespace happe::embedded
