// SPDX-License-Identifier: GPL-2.0-or-later
// Files that a command leaves behind or is given.
#pragma once

#include "governor/happectl/outcome.h"
#include "governor/system/file_descriptor.h"

#include <sys/types.h>
#include <filesystem>
#include <string>
#include <string_view>

namespace happe::ctl {

// A file that appears whole under its name, or not at all. "-" is standard output; a device, a pipe or the like is
// written into as it is.
class NewFile {
public:
    // Says at once if the file cannot be made. It's for its owner alone.
    static Outcome<NewFile> create(const std::filesystem::path& path);

    NewFile(NewFile&&) = default;
    NewFile& operator=(NewFile&&) = delete;
    NewFile(const NewFile&) = delete;
    NewFile& operator=(const NewFile&) = delete;
    ~NewFile();  // without publish() nothing is left

    Outcome<std::size_t> write(std::string_view text);
    Outcome<std::size_t> copy(int from);  // all that can be read from a file, from its beginning; bytes
    Outcome<std::filesystem::path> publish();

private:
    NewFile(std::filesystem::path path, std::filesystem::path part, FileDescriptor file)
        : path_(std::move(path)), part_(std::move(part)), file_(std::move(file)) {}

    std::filesystem::path path_;
    std::filesystem::path part_;  // empty if written in place
    FileDescriptor file_;
};

// The whole file, "-" being standard input, if it has at most so many bytes.
Outcome<std::string> read_input(const std::string& path, std::size_t most);

}  // namespace happe::ctl
