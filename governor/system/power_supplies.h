// SPDX-License-Identifier: GPL-2.0-or-later
// What the laptop runs on, as the kernel says: Documentation/ABI/testing/sysfs-class-power.
#pragma once

#include "governor/core/profile_book.h"
#include "governor/core/result.h"
#include "governor/system/event_loop.h"
#include "governor/system/file_descriptor.h"

#include <filesystem>
#include <functional>
#include <optional>

namespace happe {

class PowerSupplies {
public:
    // `directory`: /sys/class/power_supply. It need not exist. `changed` is called when source() is another.
    PowerSupplies(std::filesystem::path directory, std::function<void()> changed)
        : directory_(std::move(directory)), changed_(std::move(changed)) {
        look();
    }
    PowerSupplies(const PowerSupplies&) = delete;
    PowerSupplies& operator=(const PowerSupplies&) = delete;
    ~PowerSupplies() = default;

    // From now on the kernel tells of changes; the event loop outlives it. An error if it cannot: then source() stays.
    [[nodiscard]] Status watch(sd_event* loop);

    // Nothing on a machine without a battery, and where the kernel does not say.
    [[nodiscard]] std::optional<PowerSource> source() const { return source_; }

private:
    void look();
    void hear();

    std::filesystem::path directory_;
    std::function<void()> changed_;
    std::optional<PowerSource> source_;
    FileDescriptor uevents_;
    EventSource heard_;  // goes before the descriptor it watches
};

}  // namespace happe
