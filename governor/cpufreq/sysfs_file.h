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

// "PATH: reason", with the text of errno.
[[nodiscard]] [[gnu::cold]] tl::unexpected<Error> refused(const std::filesystem::path& path, int error);

// True if the error means that the attribute's object is missing now: removed, or its CPUs off line.
[[nodiscard]] bool is_absent(int error);

// The first line. Empty if the file is missing.
[[nodiscard]] Result<std::optional<std::string>> read_line(const std::filesystem::path& path);

// Adds a newline. Never creates a file.
[[nodiscard]] Status write_line(const std::filesystem::path& path, std::string_view text);

// An attribute for frequent use. Its descriptor stays open. If another object replaces the one behind it, this opens
// the file again.
// Allocates memory only for error messages and for opening.
class Attribute {
public:
    // A missing permission to write is an error only when writing.
    explicit Attribute(std::filesystem::path path) : path_(std::move(path)) {}

    // The first line, in `buffer`. Empty if the file is missing. An error if the line does not fit into the buffer.
    [[nodiscard]] Result<std::optional<std::string_view>> read(std::span<char> buffer);
    [[nodiscard]] Status write(std::string_view text);  // `text` ends with a newline

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

private:
    // zero, or errno
    template <typename Transfer>
    int transfer(Transfer transfer);
    void open();

    std::filesystem::path path_;
    FileDescriptor file_;
};

}  // namespace happe::sysfs
