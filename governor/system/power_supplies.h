// SPDX-License-Identifier: GPL-2.0-or-later
// The laptop's source of power, from the kernel: Documentation/ABI/testing/sysfs-class-power.
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
    // `directory`: /sys/class/power_supply. It need not exist. Calls `changed` after source() has changed.
    PowerSupplies(std::filesystem::path directory, std::function<void()> changed)
        : directory_(std::move(directory)), changed_(std::move(changed)) {
        look();
    }
    PowerSupplies(const PowerSupplies&) = delete;
    PowerSupplies& operator=(const PowerSupplies&) = delete;
    ~PowerSupplies() = default;

    // Follows changes that the kernel announces. `loop` must outlive the object. On an error source() never changes.
    [[nodiscard]] Status watch(sd_event* loop);

    // Empty on a machine without a battery, or if the kernel does not report it.
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
