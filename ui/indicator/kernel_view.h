// SPDX-License-Identifier: GPL-2.0-or-later
// What the kernel shows to everybody: how fast and how busy the CPUs are. In a sealed run happed tells nobody, and the
// study's battery still has to know.
#pragma once

#include "ui/indicator/overlay_state.h"

#include <cstdint>
#include <filesystem>
#include <map>

namespace happe::ui {

class KernelView {
public:
    // `root`: where /proc and /sys are.
    explicit KernelView(std::filesystem::path root = "/") : root_(std::move(root)) {}

    // Fills in targets and samples of the governor's policies: the frequency of now, and the one at the last look with
    // the utilisation since then (the first time: since the machine started). A policy that the kernel does not show
    // stays empty.
    void look(Governor& governor);

private:
    struct Times {
        std::uint64_t busy = 0;
        std::uint64_t all = 0;
    };

    [[nodiscard]] static std::uint64_t ppm(const Times& before, const Times& now);
    [[nodiscard]] std::map<std::uint32_t, Times> times() const;
    [[nodiscard]] std::uint32_t frequency(std::uint32_t policy) const;

    std::filesystem::path root_;
    std::map<std::uint32_t, Times> last_times_;        // by CPU
    std::map<std::uint32_t, std::uint32_t> last_khz_;  // by policy
};

}  // namespace happe::ui
