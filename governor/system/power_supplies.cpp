// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/system/power_supplies.h"

#include "governor/system/monotonic_clock.h"

#include <fmt/format.h>
#include <linux/netlink.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <array>
#include <cerrno>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

namespace happe {
namespace {

namespace fs = std::filesystem;

// Empty if it cannot be read.
std::string first_line(const fs::path& path) {
    std::string line;
    std::ifstream file(path);
    std::getline(file, line);
    return line;
}

// The combined state of a machine's supplies. One that is neither a battery nor of type Mains decides nothing: a phone
// on a USB port is on line, and while a USB charger supplies the machine no battery discharges.
struct Seen {
    bool plugged = false;      // a supply of type Mains is on line
    bool battery = false;      // the machine has one; a mouse's does not count
    bool discharging = false;  // such a battery discharges

    void add(const fs::path& supply) {
        if (first_line(supply / "scope") == "Device") {
            return;
        }
        const std::string type = first_line(supply / "type");
        if (type == "Mains") {
            const std::string online = first_line(supply / "online");  // 2: a supply with a choice of voltages
            plugged = plugged || online == "1" || online == "2";
        } else if (type == "Battery" && first_line(supply / "present") != "0") {
            battery = true;
            discharging = discharging || first_line(supply / "status") == "Discharging";
        }
    }

    [[nodiscard]] std::optional<PowerSource> source() const {
        if (!battery) {
            return std::nullopt;
        }
        return discharging && !plugged ? PowerSource::Battery : PowerSource::Mains;
    }
};

}  // namespace

Status PowerSupplies::watch(EventLoop& loop) {
    late_ = std::make_unique<Alarm>(loop, [this] { look_and_tell(); });
    constexpr unsigned kKernel = 1;  // the group of the kernel's own messages, not of udev's
    uevents_ = FileDescriptor(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT));
    sockaddr_nl address{};
    address.nl_family = AF_NETLINK;
    address.nl_groups = kKernel;
    sd_event_source* source = nullptr;
    int result = -1;
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the interface of sockets
    if (uevents_ && ::bind(uevents_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
        result = sd_event_add_io(
            loop.get(), &source, uevents_.get(), EPOLLIN,
            [](sd_event_source*, int, std::uint32_t, void* self) {
                static_cast<PowerSupplies*>(self)->hear();
                return 0;
            },
            this);
    } else {
        result = -errno;
    }
    heard_.reset(source);
    look();
    return result >= 0 ? Status()
                       : failure(fmt::format("cannot receive the kernel's events: {}",
                                             std::generic_category().message(-result)));
}

// Anybody may send a message, because it only makes us look again. ENOBUFS: we have lost messages.
void PowerSupplies::hear() {
    constexpr std::string_view kOurs("SUBSYSTEM=power_supply", sizeof "SUBSYSTEM=power_supply");
    std::array<char, 8192> buffer{};
    bool ours = false;
    for (;;) {
        const ssize_t count = ::recv(uevents_.get(), buffer.data(), buffer.size(), 0);
        if (count < 0 && errno != ENOBUFS) {
            break;
        }
        const std::string_view told(buffer.data(), count < 0 ? 0 : static_cast<std::size_t>(count));
        ours = ours || count < 0 || told.find(kOurs) != std::string_view::npos;
    }
    if (ours) {
        look_again();
    }
}

void PowerSupplies::look_again() {
    look_and_tell();
    if (late_) {
        late_->set(monotonic_now() + kLate);
    }
}

void PowerSupplies::look_and_tell() {
    const auto before = source_;
    look();
    if (source_ != before) {
        changed_();
    }
}

void PowerSupplies::look() {
    Seen seen;
    std::error_code none;
    for (fs::directory_iterator entry(directory_, none); !none && entry != fs::directory_iterator();
         entry.increment(none)) {
        seen.add(entry->path());
    }
    source_ = seen.source();
}

}  // namespace happe
