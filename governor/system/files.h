// SPDX-License-Identifier: GPL-2.0-or-later
// Reads and writes whole files.
#pragma once

#include "governor/core/result.h"

#include <sys/types.h>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace happe {

// Writes all of the text, and continues after interruptions. False, with errno, on failure; part may be written then.
bool write_all(int descriptor, std::string_view text);

// Reads to the end. Nothing, with errno, on failure; EFBIG if there are more than `most` bytes.
std::optional<std::string> read_all(int descriptor, std::size_t most);

// Makes files created, renamed or removed in the path's directory survive a loss of power. False, with errno, on
// failure.
bool sync_directory_of(const std::filesystem::path& path);

// Writes the whole file or nothing. It is on the disk when this returns. `mode` ignores the umask; without it, the mode
// is 0666 within the umask.
Status write_file(const std::filesystem::path& path, std::string_view text, std::optional<mode_t> mode = {});

}  // namespace happe
