// SPDX-License-Identifier: GPL-2.0-or-later
// Attributes of sysfs: small files of one line, read and written whole.
#pragma once

#include "governor/core/result.h"
#include "governor/system/file_descriptor.h"

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace happe::sysfs {

// "PATH: why", of errno.
[[nodiscard]] tl::unexpected<Error> refused(const std::filesystem::path& path, int error);

// Whether an error says that what the attribute belongs to is not there just now: removed, or its CPUs off line.
[[nodiscard]] bool is_absent(int error);

// The first line. Nothing if it is absent.
[[nodiscard]] Result<std::optional<std::string>> read_line(const std::filesystem::path& path);

// Followed by a newline. Never creates a file.
[[nodiscard]] Status write_line(const std::filesystem::path& path, std::string_view text);

// An attribute that is used often: its descriptor stays open, and is opened anew when what it belonged to was replaced.
// Does not allocate but to say what is wrong, and when opened.
class Attribute {
public:
    // Writing needs the permission for it only when it comes to that.
    explicit Attribute(std::filesystem::path path) : path_(std::move(path)) {}

    // The first line, in `buffer`. Nothing if it is absent. An error if the line has no end within the buffer.
    [[nodiscard]] Result<std::optional<std::string_view>> read(std::span<char> buffer);
    [[nodiscard]] Status write(std::string_view text);  // `text` ends with a newline

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

private:
    // Zero or errno.
    template <typename Transfer>
    int transfer(Transfer transfer);
    void open();

    std::filesystem::path path_;
    FileDescriptor file_;
};

}  // namespace happe::sysfs
