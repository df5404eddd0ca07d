// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "governor/ports/result.h"

#include <filesystem>
#include <string>
#include <string_view>

namespace happe {

// All of the text to a descriptor, going on after interruptions. False, with errno, if it cannot be; part may be
// written.
bool write_all(int descriptor, std::string_view text);

// Writes the whole file or nothing, whatever happens meanwhile, and says why not.
Status write_file(const std::filesystem::path& path, const std::string& text);

}  // namespace happe
