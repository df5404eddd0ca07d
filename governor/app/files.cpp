// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/app/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>

namespace happe {
namespace {

Status failed(const std::filesystem::path& path, const char* doing) {
    return failure(fmt::format("{}: cannot {}: {}", path.string(), doing, std::strerror(errno)));
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

// A file under another name first, renamed when it is on the disk.
Status write_file(const std::filesystem::path& path, const std::string& text) {
    const std::filesystem::path part = path.string() + ".part";
    const int file = ::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0) {
        return failed(part, "create");
    }
    const bool written = write_all(file, text) && ::fsync(file) == 0;
    const int why = errno;
    ::close(file);
    if (!written) {
        ::unlink(part.c_str());
        errno = why;
        return failed(path, "write");
    }
    return ::rename(part.c_str(), path.c_str()) == 0 ? Status() : failed(path, "rename to it");
}

}  // namespace happe
