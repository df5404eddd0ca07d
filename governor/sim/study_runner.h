// SPDX-License-Identifier: GPL-2.0-or-later
// Runs a whole study, several seeds at a time, and writes its folder of results.
#pragma once

#include "governor/core/result.h"
#include "governor/sim/study_tables.h"

#include <filesystem>
#include <functional>
#include <optional>

namespace happe {

struct StudyRequest {
    StudyPlan plan;
    std::string protocol;
    std::vector<std::uint64_t> seeds;
    std::size_t jobs = 1;            // threads; each seed runs in one thread
    std::function<void()> run_done;  // called from those threads
    std::optional<std::filesystem::path>
        folder;  // for study.json, runs.csv, tables.txt; traces, export and measures of the first seed
};

// Creates the folder, and removes traces of an earlier study from it.
Status prepare_folder(const std::filesystem::path& folder);

// If there is a folder, call prepare_folder() first.
Result<StudyResults> run_whole_study(const StudyRequest& request);

}  // namespace happe
