// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/store/sqlite_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <span>
#include <system_error>
#include <thread>
#include <vector>

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

// Zero if there is none.
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

bool has_wal(const fs::path& path) {
    return size_of(beside(path, "-wal")) > 0;
}

bool has_orphaned_wal(const fs::path& path) {
    return has_wal(path) && size_of(path) == 0;
}

namespace {

constexpr std::size_t kHeaderSize = 32;
constexpr std::size_t kFrameHeaderSize = 24;

using Bytes = std::span<const unsigned char>;

std::uint32_t big_endian(Bytes bytes, std::size_t offset) {
    std::uint32_t value = 0;
    for (const unsigned char byte : bytes.subspan(offset, sizeof value)) {
        value = value << 8U | byte;
    }
    return value;
}

struct Checksum {
    std::uint32_t first = 0;
    std::uint32_t second = 0;
    bool operator==(const Checksum&) const = default;
};

// "The checksum is computed by interpreting the input as an even number of unsigned 32-bit integers" and
// s0 += x[i] + s1; s1 += x[i+1] + s0.
Checksum continued(Checksum sum, Bytes bytes, bool big) {
    const bool swap = big != (std::endian::native == std::endian::big);
    for (std::size_t offset = 0; offset + 8 <= bytes.size(); offset += 8) {
        std::array<std::uint32_t, 2> words{};
        std::memcpy(words.data(), bytes.data() + offset, sizeof words);
        sum.first += (swap ? __builtin_bswap32(words[0]) : words[0]) + sum.second;
        sum.second += (swap ? __builtin_bswap32(words[1]) : words[1]) + sum.first;
    }
    return sum;
}

// The header of a WAL: magic, version, page size, checkpoint number, two salts, two checksums.
class WalHeader {
public:
    explicit WalHeader(Bytes bytes) : bytes_(bytes) {}

    [[nodiscard]] bool blank() const {
        return std::ranges::all_of(bytes_, [](unsigned char byte) { return byte == 0; });
    }
    [[nodiscard]] bool sound() const {
        const std::uint32_t page = page_size();
        return (big_endian(bytes_, 0) & ~1U) == 0x377F0682U && std::has_single_bit(page) && page >= 512 &&
               page <= 65536 && continued({}, bytes_.first(24), big()) == checksum();
    }
    [[nodiscard]] bool big() const { return (big_endian(bytes_, 0) & 1U) != 0; }
    [[nodiscard]] std::uint32_t page_size() const { return big_endian(bytes_, 8); }
    [[nodiscard]] Bytes salts() const { return bytes_.subspan(16, 8); }
    [[nodiscard]] Checksum checksum() const {
        return {.first = big_endian(bytes_, 24), .second = big_endian(bytes_, 28)};
    }

private:
    Bytes bytes_;
};

// Follows the frames: page number, size of the database after a commit or zero, two salts, two checksums, the page.
class WalFrames {
public:
    explicit WalFrames(WalHeader header) : header_(header), sum_(header.checksum()) {}

    void next(Bytes frame) {
        if (!std::ranges::equal(frame.subspan(8, 8), header_.salts())) {
            broken_ = true;  // of a log before this one, unless more of this one follows
            return;
        }
        lost_ = lost_ || commit_beyond_;
        const Checksum stored{.first = big_endian(frame, 16), .second = big_endian(frame, 20)};
        sum_ =
            continued(continued(sum_, frame.first(8), header_.big()), frame.subspan(kFrameHeaderSize), header_.big());
        broken_ = broken_ || sum_ != stored;
        commit_beyond_ = commit_beyond_ || (broken_ && big_endian(frame, 4) != 0);
    }
    [[nodiscard]] bool lost_commits() const { return lost_; }

private:
    WalHeader header_;
    Checksum sum_;
    bool broken_ = false;
    bool commit_beyond_ = false;
    bool lost_ = false;
};

// False at the end of the file, and if it cannot be read: SQLite will say why.
bool read_whole(const FileDescriptor& file, std::span<unsigned char> bytes) {
    while (!bytes.empty()) {
        const ssize_t count = ::read(file.get(), bytes.data(), bytes.size());
        if (count <= 0) {
            return false;
        }
        bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
    return true;
}

}  // namespace

std::optional<std::string> wal_damage(const fs::path& path) {
    const FileDescriptor file(::open(beside(path, "-wal").c_str(), O_RDONLY | O_CLOEXEC));
    std::array<unsigned char, kHeaderSize> bytes{};
    const WalHeader header(bytes);
    if (!read_whole(file, bytes) || header.blank()) {
        return std::nullopt;  // power was lost before the first commit
    }
    if (!header.sound()) {
        return "its write-ahead log has a damaged header";
    }
    std::vector<unsigned char> frame(kFrameHeaderSize + header.page_size());
    WalFrames frames(header);
    while (read_whole(file, frame)) {
        frames.next(frame);
    }
    return frames.lost_commits() ? std::optional<std::string>("its write-ahead log is damaged before its end")
                                 : std::nullopt;
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
