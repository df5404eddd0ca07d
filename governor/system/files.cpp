// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/system/files.h"

#include "governor/system/file_descriptor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <system_error>

namespace happe {
namespace {

Status failed(const std::filesystem::path& path, const char* doing, int why = errno) {
    return failure(fmt::format("{}: cannot {}: {}", path.string(), doing, std::generic_category().message(why)));
}

}  // namespace

bool write_all(int descriptor, std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = ::write(descriptor, text.data(), text.size());
        if (written < 0 && errno != EINTR) {
            return false;
        }
        text.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
    }
    return true;
}

std::optional<std::string> read_all(int descriptor, std::size_t most) {
    std::string text(most + 1, '\0');
    std::size_t length = 0;
    while (length < text.size()) {
        const ssize_t count = ::read(descriptor, text.data() + length, text.size() - length);
        if (count < 0 && errno != EINTR) {
            return std::nullopt;
        }
        if (count == 0) {
            text.resize(length);
            return text;
        }
        length += count < 0 ? 0 : static_cast<std::size_t>(count);
    }
    errno = EFBIG;
    return std::nullopt;
}

bool sync_directory_of(const std::filesystem::path& path) {
    const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
    const FileDescriptor directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return directory && ::fsync(directory.get()) == 0;
}

// Writes a file with another name, and renames it when it is on the disk. Replaces such a file that an interruption
// left.
Status write_file(const std::filesystem::path& path, std::string_view text, std::optional<mode_t> mode) {
    constexpr mode_t kEverybody = 0666;
    const std::filesystem::path part = path.string() + ".part";
    ::unlink(part.c_str());
    const FileDescriptor file(::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode.value_or(kEverybody)));
    if (!file) {
        return failed(part, "create");
    }
    const bool has_mode = !mode || ::fchmod(file.get(), *mode) == 0;
    const bool written = has_mode && write_all(file.get(), text) && ::fsync(file.get()) == 0;
    if (!written || ::rename(part.c_str(), path.c_str()) != 0) {
        const int why = errno;
        ::unlink(part.c_str());
        return failed(path, written ? "rename to it" : "write", why);
    }
    return sync_directory_of(path) ? Status() : failed(path, "sync");
}

}  // namespace happe
