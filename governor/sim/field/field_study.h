// SPDX-License-Identifier: GPL-2.0-or-later
// Simulates a field study: people meet real and sham probes for hours a day, and notice a known share of the real ones.
// It serves to check the analysis of probes and to plan studies.
#pragma once

#include "governor/core/result.h"
#include "governor/core/units.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace happe {

struct FieldPlan {
    std::size_t people = 12;
    std::size_t days = 7;
    Micros day = std::chrono::hours{2};  // length of each day's run under L-HAPPE
    double notice = 0.3;                 // the chance that a real probe makes its person press "faster" within 58 s
    double slips_an_hour = 0.3;          // presses of "faster" for other reasons
    std::uint64_t seed = 1;
};

// Runs the study on the machine with 32 frequencies, and writes an export like a study server's. A person's first day
// begins like a raised run. Each later day begins with the profile that the person's earlier days have taught.
[[nodiscard]] Status write_field_study(const FieldPlan& plan, const std::filesystem::path& folder);

}  // namespace happe
