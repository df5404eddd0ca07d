// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/keys/keyboard.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <libevdev/libevdev.h>
#include <linux/input.h>
#include <linux/major.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <memory>
#include <system_error>

namespace happe {
namespace {

// A bit for each code, in the longs that the kernel takes.
class Bits {
public:
    static constexpr std::size_t kPerWord = 8 * sizeof(unsigned long);

    void set(std::size_t bit) { words_.at(bit / kPerWord) |= 1UL << (bit % kPerWord); }
    [[nodiscard]] input_mask mask_of(std::uint32_t type) {
        // NOLINTNEXTLINE(*-reinterpret-cast): input_mask has the bits' address as a number (linux/input.h)
        return {.type = type, .codes_size = sizeof(words_), .codes_ptr = reinterpret_cast<std::uintptr_t>(&words_)};
    }
    bool operator==(const Bits&) const = default;

private:
    std::array<unsigned long, KEY_CNT / kPerWord> words_{};
};
static_assert(KEY_CNT % Bits::kPerWord == 0);

tl::unexpected<Error> failed(const std::string& path, std::string_view what) {
    return failure(fmt::format("{}: {}: {}", path, what, std::generic_category().message(errno)));
}

// Sets a mask, and checks that the kernel has it for all codes of the type.
bool set_mask(int file, std::uint32_t type, Bits bits, std::size_t count) {
    Bits found;
    input_mask wanted = bits.mask_of(type);
    input_mask there = found.mask_of(type);
    there.codes_size = static_cast<std::uint32_t>(count / 8);
    if (::ioctl(file, EVIOCSMASK, &wanted) != 0 || ::ioctl(file, EVIOCGMASK, &there) != 0) {
        return false;
    }
    errno = EOPNOTSUPP;
    return found == bits;
}

// EV_SYN's mask is that of the types. SYN_REPORT and SYN_DROPPED cannot be masked.
bool mask(int file, std::span<const KeyCode> codes) {
    Bits types;
    types.set(EV_KEY);
    Bits keys;
    for (const KeyCode code : codes) {
        keys.set(code);
    }
    return set_mask(file, EV_SYN, types, Bits::kPerWord) && set_mask(file, EV_KEY, keys, KEY_CNT);
}

bool is_event_device(int file) {
    struct stat status{};
    return ::fstat(file, &status) == 0 && S_ISCHR(status.st_mode) && major(status.st_rdev) == INPUT_MAJOR;
}

struct FreeDevice {
    void operator()(libevdev* device) const { libevdev_free(device); }
};
using Device = std::unique_ptr<libevdev, FreeDevice>;

}  // namespace

// The order matters. The change of clock drops the events queued before the mask. Only then does libevdev read which
// keys are down, and this function discards its copy at once.
Result<std::optional<OpenKeyboard>> open_keyboard(const std::string& path, std::span<const KeyCode> codes,
                                                  std::span<const KeyCode> wanted) {
    FileDescriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY));
    if (!file && (errno == ENOENT || errno == ENODEV || errno == ENXIO)) {
        return std::nullopt;
    }
    if (!file) {
        return failed(path, "cannot open");
    }
    if (!is_event_device(file.get())) {
        return failure(fmt::format("{}: not an input device", path));
    }
    int clock = CLOCK_MONOTONIC;
    if (!mask(file.get(), codes) || ::ioctl(file.get(), EVIOCSCLOCKID, &clock) != 0) {
        return errno == ENODEV ? Result<std::optional<OpenKeyboard>>(std::nullopt)
                               : failed(path, "the kernel doesn't hide the other keys");
    }
    libevdev* opened = nullptr;
    const int result = libevdev_new_from_fd(file.get(), &opened);
    const Device device(opened);
    if (result < 0 && result != -ENODEV) {
        errno = -result;
        return failed(path, "cannot be asked for its keys");
    }
    const auto has = [&](KeyCode code) { return libevdev_has_event_code(device.get(), EV_KEY, code) != 0; };
    if (result < 0 || std::ranges::none_of(wanted, has)) {
        return std::nullopt;
    }
    return OpenKeyboard{.file = std::move(file), .name = libevdev_get_name(device.get())};
}

}  // namespace happe
