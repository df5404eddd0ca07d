// SPDX-License-Identifier: GPL-2.0-or-later
// A simulated study as `happe-server analyse` reads a real one: the study server's tables, and the runs' mean power as
// in `happe-power measures`. They hold what the analysis reads, of one seed.
#pragma once

#include "governor/core/result.h"
#include "governor/core/witness.h"
#include "governor/sim/study.h"

#include <filesystem>
#include <span>
#include <string>

namespace happe {

class StudyExport {
public:
    // Keeps a reference to the plan.
    explicit StudyExport(const StudyPlan& plan) : plan_(plan) {}

    void turned(const RunResult& run, const Turn& turn);

    // Writes FOLDER/export/STUDY-*.csv and FOLDER/measures.json, of the runs in the order they were made.
    [[nodiscard]] Status write(const std::filesystem::path& folder, const std::string& study,
                               std::span<const RunResult> runs) const;

private:
    [[nodiscard]] std::string code(const RunResult& run) const;
    [[nodiscard]] std::string runs_table(std::span<const RunResult> runs) const;
    [[nodiscard]] std::string ratings_table(std::span<const RunResult> runs) const;
    [[nodiscard]] std::string records_table(std::span<const RunResult> runs) const;
    [[nodiscard]] std::string measures(std::span<const RunResult> runs) const;

    const StudyPlan& plan_;
    std::string samples_ = "run,t_us,policy,cpu,cur_khz,util_ppm\n";
    std::string keys_ = "run,t_us,key\n";
};

}  // namespace happe
