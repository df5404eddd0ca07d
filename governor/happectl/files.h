// SPDX-License-Identifier: GPL-2.0-or-later
// Files that a command writes or reads.
#pragma once

#include "governor/happectl/outcome.h"
#include "governor/system/file_descriptor.h"

#include <sys/types.h>
#include <filesystem>
#include <string>
#include <string_view>

namespace happe::ctl {

// A file that appears complete under its name, or not at all. "-" is standard output. A device or pipe is written
// directly.
class NewFile {
public:
    // An error if the file cannot be created. Only its owner can read it.
    static Outcome<NewFile> create(const std::filesystem::path& path);

    NewFile(NewFile&&) = default;
    NewFile& operator=(NewFile&&) = delete;
    NewFile(const NewFile&) = delete;
    NewFile& operator=(const NewFile&) = delete;
    ~NewFile();  // removes the file, unless publish() has run

    Outcome<std::size_t> write(std::string_view text);
    Outcome<std::size_t> copy(int from);  // copies a file from its start; returns the number of bytes
    Outcome<std::filesystem::path> publish();

private:
    NewFile(std::filesystem::path path, std::filesystem::path part, FileDescriptor file)
        : path_(std::move(path)), part_(std::move(part)), file_(std::move(file)) {}

    std::filesystem::path path_;
    std::filesystem::path part_;  // empty if we write in place
    FileDescriptor file_;
};

// Reads a whole file of at most `most` bytes; "-" is standard input.
Outcome<std::string> read_input(const std::string& path, std::size_t most);

}  // namespace happe::ctl
