// SPDX-License-Identifier: GPL-2.0-or-later
// What the kernel shows to everybody: how fast and how busy the CPUs are. In a sealed run happed tells nobody, and the
// study's battery still has to know.
#pragma once

#include "ui/overlay/overlay_state.h"

#include <cstdint>
#include <filesystem>
#include <map>

namespace happe::ui {

class KernelView {
public:
    // `root`: where /proc and /sys are.
    explicit KernelView(std::filesystem::path root = "/") : root_(std::move(root)) {}

    // Fills in targets and samples of the governor's policies: the frequency of now, and the one at the last look with
    // the utilisation since then (the first time: since the machine started), over 0.2 s or more: a look that comes
    // sooner keeps the last one. Frequencies are of the ladder, whatever governs. A policy without a frequency stays
    // empty.
    void look(DaemonState& governor);

private:
    struct Times {
        std::uint64_t busy = 0;
        std::uint64_t all = 0;
    };

    struct Load {
        Times until;
        std::uint32_t ppm = 0;
    };

    static void renew(Load& load, const Times& now);
    [[nodiscard]] std::map<std::uint32_t, Times> times() const;
    [[nodiscard]] std::uint32_t frequency(std::uint32_t policy) const;

    std::filesystem::path root_;
    std::map<std::uint32_t, Load> loads_;              // by CPU
    std::map<std::uint32_t, std::uint32_t> last_khz_;  // by policy
};

}  // namespace happe::ui
