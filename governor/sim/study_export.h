// SPDX-License-Identifier: GPL-2.0-or-later
// Exports one seed of a simulated study in the files that `happe-server analyse` reads: the study server's tables, and
// the runs' mean power as in `happe-power measures`.
#pragma once

#include "governor/core/result.h"
#include "governor/core/turn_observer.h"
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

    // Writes FOLDER/export/STUDY-*.csv and FOLDER/measures.json. `runs`: in the order of their simulation.
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
