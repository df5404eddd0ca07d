// SPDX-License-Identifier: GPL-2.0-or-later
// Reads the speed and utilisation of the CPUs, which the kernel shows to everybody. In a sealed run happed hides them,
// but the study's simulated battery needs them.
#pragma once

#include "governor/system/proc_stat.h"
#include "ui/overlay/overlay_state.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <vector>

namespace happe::ui {

class KernelView {
public:
    // `root`: where /proc and /sys are.
    explicit KernelView(std::filesystem::path root = "/") : root_(std::move(root)) {}

    // Fills in targets and samples of the governor's policies: the present frequency, and the frequency at the last
    // look with the utilisation since then (at first: since the machine started). A look within 0.2 s keeps the
    // previous sample. Frequencies are always of the ladder. A policy without a frequency stays empty.
    void look(DaemonState& governor);

private:
    struct Load {
        CpuTicks until;
        std::uint32_t ppm = 0;
    };

    static void renew(Load& load, const CpuTicks& now);
    [[nodiscard]] std::vector<std::optional<CpuTicks>> ticks() const;
    [[nodiscard]] std::uint32_t frequency(std::uint32_t policy) const;

    std::filesystem::path root_;
    std::map<std::uint32_t, Load> loads_;              // by CPU
    std::map<std::uint32_t, std::uint32_t> last_khz_;  // by policy
};

}  // namespace happe::ui
