// SPDX-License-Identifier: GPL-2.0-or-later
// A whole study: its seeds side by side, and its folder of results.
#pragma once

#include "governor/core/result.h"
#include "governor/sim/study_report.h"

#include <filesystem>
#include <functional>
#include <optional>

namespace happe {

struct StudyRequest {
    StudyPlan plan;
    std::string protocol;
    std::vector<std::uint64_t> seeds;
    std::size_t jobs = 1;            // threads; each seed is one thread's alone
    std::function<void()> run_done;  // called from those threads
    std::optional<std::filesystem::path>
        folder;  // for study.json, runs.csv, tables.txt; traces, export and measures of the first seed
};

// Makes the folder, and removes the traces that an earlier study left there.
Status prepare_folder(const std::filesystem::path& folder);

// `folder`, if any, is prepared.
Result<StudyResults> run_whole_study(const StudyRequest& request);

}  // namespace happe
