// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happectl/files.h"

#include "governor/system/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace happe::ctl {
namespace {

constexpr mode_t kOwnerOnly = 0600;

tl::unexpected<Trouble> refused(int status, const std::filesystem::path& path, const char* doing) {
    const char* const why = std::strerror(errno);
    return trouble(status, fmt::format("{}: cannot {}: {}", path.string(), doing, why));
}

// True for a device, a pipe or a socket.
bool is_special(const std::filesystem::path& path) {
    std::error_code unknown;
    return std::filesystem::is_other(path, unknown);
}

}  // namespace

Outcome<NewFile> NewFile::create(const std::filesystem::path& path) {
    if (path == "-") {
        return NewFile("standard output", {}, FileDescriptor(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)));
    }
    if (is_special(path)) {
        FileDescriptor file(::open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC));
        return file ? Outcome<NewFile>(NewFile(path, {}, std::move(file))) : refused(EX_CANTCREAT, path, "open");
    }
    if (std::filesystem::is_directory(path)) {
        errno = EISDIR;
        return refused(EX_CANTCREAT, path, "create");
    }
    std::string part = path.string() + ".XXXXXX";
    FileDescriptor file(::mkostemp(part.data(), O_CLOEXEC));
    return file ? Outcome<NewFile>(NewFile(path, part, std::move(file))) : refused(EX_CANTCREAT, path, "create");
}

NewFile::~NewFile() {
    if (file_ && !part_.empty()) {
        ::unlink(part_.c_str());
    }
}

Outcome<std::size_t> NewFile::write(std::string_view text) {
    if (write_all(file_.get(), text)) {
        return text.size();
    }
    return refused(EX_IOERR, path_, "write");
}

Outcome<std::size_t> NewFile::copy(int from) {
    constexpr std::size_t kPiece = 65'536;
    std::array<char, kPiece> piece{};
    ::lseek(from, 0, SEEK_SET);  // fails on pipes, which have no earlier content
    std::size_t bytes = 0;
    for (;;) {
        const ssize_t read = ::read(from, piece.data(), piece.size());
        if (read == 0) {
            return bytes;
        }
        if (read < 0 && errno != EINTR) {
            return trouble(EX_IOERR, fmt::format("cannot read happed's file: {}", std::strerror(errno)));
        }
        const std::size_t got = read < 0 ? 0 : static_cast<std::size_t>(read);
        if (const auto written = write({piece.data(), got}); !written) {
            return written;
        }
        bytes += got;
    }
}

Outcome<std::filesystem::path> NewFile::publish() {
    if (part_.empty()) {
        return path_;
    }
    if (::fchmod(file_.get(), kOwnerOnly) != 0 || ::fsync(file_.get()) != 0) {
        return refused(EX_IOERR, path_, "write");
    }
    if (::rename(part_.c_str(), path_.c_str()) != 0) {
        return refused(EX_CANTCREAT, path_, "rename to it");
    }
    part_.clear();
    return sync_directory_of(path_) ? Outcome<std::filesystem::path>(path_)
                                    : refused(EX_IOERR, path_, "keep it safely");
}

Outcome<std::string> read_input(const std::string& path, std::size_t most) {
    const bool standard = path == "-";
    if (!standard && is_special(path)) {  // to open a FIFO waits for its writer, and a device may never end
        return trouble(EX_DATAERR, fmt::format("{}: not a regular file; for standard input give -", path));
    }
    const FileDescriptor opened(standard ? -1 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    const int file = standard ? STDIN_FILENO : opened.get();
    if (file < 0) {
        return refused(errno == EACCES ? EX_NOPERM : EX_NOINPUT, path, "open");
    }
    auto text = read_all(file, most);
    if (!text && errno == EFBIG) {
        return trouble(EX_DATAERR, fmt::format("{}: longer than {} bytes", path, most));
    }
    return text ? Outcome<std::string>(*std::move(text)) : refused(EX_IOERR, path, "read");
}

}  // namespace happe::ctl
