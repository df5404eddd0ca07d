// SPDX-License-Identifier: GPL-2.0-or-later
// The laptop's source of power, from the kernel: Documentation/ABI/testing/sysfs-class-power.
#pragma once

#include "governor/core/profile_book.h"
#include "governor/core/result.h"
#include "governor/system/event_loop.h"
#include "governor/system/file_descriptor.h"

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
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

    // Some batteries show only seconds after the kernel's message that they discharge.
    static constexpr std::chrono::seconds kLate{3};

    // Follows changes that the kernel announces. `loop` must outlive the object. On an error source() changes only in
    // look_again().
    [[nodiscard]] Status watch(EventLoop& loop);

    // Reads the supplies now and kLate later. Call this after sleep, in which the kernel may announce nothing.
    void look_again();

    // Empty on a machine without a battery, or if the kernel does not report it.
    [[nodiscard]] std::optional<PowerSource> source() const { return source_; }

private:
    void look();
    void look_and_tell();
    void hear();

    std::filesystem::path directory_;
    std::function<void()> changed_;
    std::optional<PowerSource> source_;
    FileDescriptor uevents_;
    std::unique_ptr<Alarm> late_;
    EventSource heard_;  // goes before the descriptor it watches
};

}  // namespace happe
