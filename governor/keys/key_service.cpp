// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/keys/key_service.h"

#include "governor/keys/key_messages.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <libevdev/libevdev.h>
#include <linux/input.h>
#include <linux/major.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <memory>
#include <system_error>

namespace happe {
namespace {

using Clock = std::chrono::steady_clock;

Status say(int socket, const KeyAnswer& answer, int file = -1) {
    return send_key_packet(socket, to_string(answer), file);
}

// Waits for the first of these keys to go down on any keyboard. Stops when the time is over or the client has gone.
class Listener {
public:
    Listener(int socket, std::span<const KeyCode> codes) : codes_(codes) {
        sources_.push_back({.fd = socket, .events = POLLIN, .revents = 0});
    }
    void add(const FileDescriptor& keyboard) {
        sources_.push_back({.fd = keyboard.get(), .events = POLLIN, .revents = 0});
    }

    Result<std::optional<KeyCode>> wait(Clock::time_point until) {
        while (true) {
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
            const int ready =
                left.count() > 0 ? ::poll(sources_.data(), sources_.size(), static_cast<int>(left.count())) : 0;
            if (ready < 0 && errno != EINTR) {
                return failure(fmt::format("poll: {}", std::generic_category().message(errno)));
            }
            if (ready == 0 || sources_.front().revents != 0) {
                return std::nullopt;
            }
            if (const auto code = pressed()) {
                return code;
            }
        }
    }

private:
    std::optional<KeyCode> pressed() {
        for (pollfd& source : std::span(sources_).subspan(1)) {
            const auto code = source.revents != 0 ? read(source) : std::nullopt;
            if (code) {
                return code;
            }
        }
        return std::nullopt;
    }

    std::optional<KeyCode> read(pollfd& source) {
        std::array<input_event, 64> events{};
        const ssize_t length = ::read(source.fd, events.data(), sizeof(events));
        if (length <= 0 && errno != EAGAIN) {
            source.fd = -1;  // unplugged; poll() skips it
        }
        const auto count = static_cast<std::size_t>(std::max<ssize_t>(length, 0)) / sizeof(input_event);
        for (const input_event& event : std::span(events).first(count)) {
            if (event.type == EV_KEY && event.value == 1 && std::ranges::binary_search(codes_, event.code)) {
                return event.code;
            }
        }
        return std::nullopt;
    }

    std::span<const KeyCode> codes_;
    std::vector<pollfd> sources_;  // the client's socket, then the keyboards
};

}  // namespace

Status KeyService::answer(int socket, const KeyRequest& request) {
    const auto* const open = std::get_if<OpenRequest>(&request);
    const Status answered =
        open != nullptr ? hand_over(socket, *open) : learn(socket, std::get<LearnRequest>(request).time);
    const Status ended = answered ? say(socket, EndOfAnswer{}) : say(socket, Refusal{answered.error().message});
    return answered ? ended : answered;
}

// A node that does not open must not hide the others. If the client asked for all nodes, this is an error only if the
// search found no keyboard.
Status KeyService::hand_over(int socket, const OpenRequest& request) {
    if (!configured_) {
        return tl::unexpected<Error>(configured_.error());
    }
    if (request.bindings != *configured_) {
        return failure("the request names other keys than the configuration: after changing it, run `happectl reload`");
    }
    auto nodes = request.node == kAllNodes ? this->nodes() : std::vector{request.node};
    if (!nodes) {
        return tl::unexpected<Error>(nodes.error());
    }
    bool any = false;
    Status first;
    for (const std::string& node : *nodes) {
        if (const Status handed = hand_over(socket, node, request.bindings, any); !handed && first) {
            first = handed;
        }
    }
    return any ? Status() : first;
}

Status KeyService::hand_over(int socket, const std::string& node, const KeyBindings& bindings, bool& handed) {
    const auto codes = watched_codes(bindings);
    const std::array wanted{bindings.performance.code, bindings.power.code};
    auto keyboard = open_((devices_ / node).string(), codes, wanted);
    if (!keyboard) {
        return tl::unexpected<Error>(keyboard.error());
    }
    if (!*keyboard) {
        return {};
    }
    handed = true;
    return say(socket, FoundKeyboard{node}, (*keyboard)->get());
}

Status KeyService::learn(int socket, std::chrono::milliseconds time) {
    const auto until = Clock::now() + time;
    const auto codes = keys_that_do_not_type();
    const auto nodes = this->nodes();
    if (!nodes) {
        return tl::unexpected<Error>(nodes.error());
    }
    std::vector<FileDescriptor> keyboards;
    for (const std::string& node : *nodes) {
        auto keyboard = open_((devices_ / node).string(), codes, codes);
        if (keyboard && *keyboard) {
            keyboards.push_back(std::move(**keyboard));
        }
    }
    if (keyboards.empty()) {
        return failure("there is no keyboard with a key that can be learned");
    }
    Listener listener(socket, codes);
    std::ranges::for_each(keyboards, [&](const FileDescriptor& keyboard) { listener.add(keyboard); });
    const auto code = listener.wait(until);
    if (!code) {
        return tl::unexpected<Error>(code.error());
    }
    return *code ? say(socket, LearnedKey{**code}) : Status();
}

Result<std::vector<std::string>> KeyService::nodes() const {
    std::error_code error;
    std::vector<std::string> names;
    for (std::filesystem::directory_iterator it(devices_, error), end; !error && it != end; it.increment(error)) {
        if (const std::string name = it->path().filename().string(); is_event_node(name)) {
            names.push_back(name);
        }
    }
    if (error && error != std::errc::no_such_file_or_directory) {
        return failure(fmt::format("{}: {}", devices_.string(), error.message()));
    }
    std::ranges::sort(names);
    names.resize(std::min(names.size(), kMostNodes));
    return names;
}

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
Result<std::optional<FileDescriptor>> open_keyboard(const std::string& path, std::span<const KeyCode> codes,
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
        return errno == ENODEV ? Result<std::optional<FileDescriptor>>(std::nullopt)
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
    return std::optional(std::move(file));
}

}  // namespace happe
