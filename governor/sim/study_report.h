// SPDX-License-Identifier: GPL-2.0-or-later
// A study's results for people (text), scripts (JSON) and spreadsheets (CSV).
#pragma once

#include "governor/sim/study_tables.h"

#include <string>

namespace happe {

struct StudyResults {
    StudyPlan plan;
    std::string protocol;  // "paper" or "a3"
    std::vector<std::uint64_t> seeds;
    std::vector<std::vector<RunResult>> runs;  // by seed
    StudyTables tables;
};

std::string text_report(const StudyResults& results);
std::string json_report(const StudyResults& results);
std::string runs_csv(const StudyResults& results);

}  // namespace happe
