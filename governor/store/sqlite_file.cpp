// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/store/sqlite_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <system_error>
#include <thread>

namespace happe::sqlite {
namespace fs = std::filesystem;
namespace {

constexpr std::chrono::milliseconds kPatience{250};  // anybody who can read the directory may hold its lock
constexpr std::chrono::milliseconds kTryAgain{5};
constexpr std::array<const char*, 4> kSuffixes{"", "-wal", "-shm", "-journal"};

fs::path beside(const fs::path& path, const char* suffix) {
    return path.string() + suffix;
}

[[noreturn]] void refuse(const fs::path& path, int error) {
    throw std::system_error(error, std::generic_category(), path.string());
}

// Zero if there is no such file.
std::uintmax_t size_of(const fs::path& path) {
    std::error_code none;
    const std::uintmax_t size = fs::file_size(path, none);
    return none ? 0 : size;
}

}  // namespace

DirectoryLock::DirectoryLock(const fs::path& directory)
    : directory_(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (!directory_) {
        refuse(directory, errno);
    }
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (::flock(directory_.get(), LOCK_EX | LOCK_NB) != 0) {
        if ((errno != EINTR && errno != EWOULDBLOCK) || std::chrono::steady_clock::now() >= end) {
            refuse(directory, errno);
        }
        std::this_thread::sleep_for(kTryAgain);
    }
}

void DirectoryLock::sync() const {
    if (::fsync(directory_.get()) != 0) {
        throw std::system_error(errno, std::generic_category(), "fsync of the database's directory");
    }
}

void create_private(const fs::path& path) {
    const FileDescriptor created(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!created && errno != EEXIST) {
        refuse(path, errno);
    }
    if (!fs::is_regular_file(path)) {
        refuse(path, fs::is_directory(path) ? EISDIR : EINVAL);
    }
}

void make_private(const fs::path& path) {
    constexpr auto kOthers = fs::perms::group_all | fs::perms::others_all;
    for (const char* suffix : kSuffixes) {
        const fs::path file = beside(path, suffix);
        std::error_code none;
        const fs::file_status status = fs::status(file, none);
        if (fs::exists(status) && (status.permissions() & kOthers) != fs::perms::none) {
            fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
        }
    }
}

void finish_copy(const fs::path& path, const fs::path& like) {
    const FileDescriptor copy(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    struct stat found{};
    struct stat made{};
    if (!copy || ::stat(like.c_str(), &found) != 0 || ::fstat(copy.get(), &made) != 0) {
        refuse(path, errno);
    }
    // happed's unit refuses every fchown, also one that changes nothing.
    const bool has_owner = made.st_uid == found.st_uid && made.st_gid == found.st_gid;
    if ((!has_owner && ::fchown(copy.get(), found.st_uid, found.st_gid) != 0) ||
        ::fchmod(copy.get(), found.st_mode & 0777U) != 0 || ::fsync(copy.get()) != 0) {
        refuse(path, errno);
    }
}

void remove_files(const fs::path& path) {
    for (const char* suffix : kSuffixes) {
        fs::remove(beside(path, suffix));
    }
}

bool has_orphaned_wal(const fs::path& path) {
    return size_of(beside(path, "-wal")) > 0 && size_of(path) == 0;
}

fs::path set_aside(const fs::path& path, const std::string& stamp, const DirectoryLock& lock) {
    const auto taken = [](const fs::path& target) {
        return std::ranges::any_of(
            kSuffixes, [&](const char* suffix) { return fs::exists(fs::symlink_status(beside(target, suffix))); });
    };
    const fs::path first = path.string() + ".corrupt-" + stamp;
    fs::path target = first;
    for (int number = 2; taken(target); ++number) {
        target = first.string() + "-" + std::to_string(number);
    }
    for (const char* suffix : kSuffixes) {
        if (fs::exists(fs::symlink_status(beside(path, suffix)))) {
            fs::rename(beside(path, suffix), beside(target, suffix));
        }
    }
    lock.sync();
    return target;
}

}  // namespace happe::sqlite
