// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/cpufreq/sysfs_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <array>
#include <cerrno>
#include <system_error>

namespace happe::sysfs {
namespace {

constexpr std::size_t kPage = 4096;  // no attribute is longer

std::optional<std::string_view> first_line(std::string_view text) {
    const auto end = text.find('\n');
    return end == std::string_view::npos ? std::nullopt : std::optional(text.substr(0, end));
}

}  // namespace

tl::unexpected<Error> refused(const std::filesystem::path& path, int error) {
    return failure(fmt::format("{}: {}", path.string(), std::generic_category().message(error)));
}

// EBUSY: cpufreq's answer for a policy without a CPU on line.
bool is_absent(int error) {
    return error == ENOENT || error == ENODEV || error == ENXIO || error == EBUSY;
}

Result<std::optional<std::string>> read_line(const std::filesystem::path& path) {
    std::array<char, kPage> buffer{};
    Attribute attribute(path);
    return attribute.read(buffer).map(
        [](const auto& line) { return line ? std::optional<std::string>(*line) : std::nullopt; });
}

Status write_line(const std::filesystem::path& path, std::string_view text) {
    return Attribute(path).write(fmt::format("{}\n", text));
}

void Attribute::open() {
    file_ = FileDescriptor(::open(path_.c_str(), O_RDWR | O_CLOEXEC));
    if (!file_ && (errno == EACCES || errno == EPERM || errno == EROFS)) {
        const int why = errno;
        file_ = FileDescriptor(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
        errno = file_ ? 0 : why;
    }
}

// Tries a second time with a new descriptor: the kept one may belong to an object that has gone.
template <typename Transfer>
int Attribute::transfer(Transfer transfer) {
    for (const bool kept : {static_cast<bool>(file_), false}) {
        if (!file_) {
            open();
        }
        if (file_ && transfer(file_.get())) {
            return 0;
        }
        const int error = errno;
        file_ = FileDescriptor();
        if (!kept) {
            return error;
        }
    }
    return 0;
}

Result<std::optional<std::string_view>> Attribute::read(std::span<char> buffer) {
    ssize_t count = 0;
    const int error = transfer([&](int file) {
        count = ::pread(file, buffer.data(), buffer.size(), 0);
        return count >= 0;
    });
    if (error != 0) {
        return is_absent(error) ? Result<std::optional<std::string_view>>(std::nullopt) : refused(path_, error);
    }
    const auto line = first_line({buffer.data(), static_cast<std::size_t>(count)});
    if (!line) {
        return failure(fmt::format("{}: no line within {} bytes", path_.string(), buffer.size()));
    }
    return line;
}

Status Attribute::write(std::string_view text) {
    ssize_t count = 0;
    const int error = transfer([&](int file) {
        count = ::pwrite(file, text.data(), text.size(), 0);
        return count >= 0;
    });
    if (error != 0) {
        return refused(path_, error == EBADF ? EACCES : error);  // the file is open only for reading
    }
    return count == static_cast<ssize_t>(text.size()) ? Status() : refused(path_, EIO);
}

}  // namespace happe::sysfs
