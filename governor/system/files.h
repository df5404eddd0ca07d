// SPDX-License-Identifier: GPL-2.0-or-later
// Files read and written whole, whatever happens meanwhile.
#pragma once

#include "governor/core/result.h"

#include <sys/types.h>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace happe {

// All of the text to a descriptor, going on after interruptions. False, with errno, if it cannot be; part may be
// written.
bool write_all(int descriptor, std::string_view text);

// All that can be read. Nothing, with errno, if it cannot be; EFBIG if it is longer than `most` bytes.
std::optional<std::string> read_all(int descriptor, std::size_t most);

// What was created, renamed or removed beside this path survives a loss of power. False, with errno.
bool sync_directory_of(const std::filesystem::path& path);

// Writes the whole file or nothing, on the disk when this returns, and says why not. Its mode is this one whatever the
// umask is; if none is given, what the umask leaves of 0666.
Status write_file(const std::filesystem::path& path, std::string_view text, std::optional<mode_t> mode = {});

}  // namespace happe
