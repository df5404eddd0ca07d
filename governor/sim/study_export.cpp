// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/sim/study_export.h"

#include "governor/system/files.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

namespace happe {
namespace {

std::string participant_code(std::size_t participant) {
    return fmt::format("P{:07X}", participant);
}

std::string participants_table(std::span<const RunResult> runs) {
    std::string text = "participant,state,answer_experience,answer_major\n";
    auto out = std::back_inserter(text);
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (i == 0 || runs[i].participant != runs[i - 1].participant) {
            fmt::format_to(out, "{},done,{},{}\n", participant_code(runs[i].participant),
                           sim::name(runs[i].person.experience), sim::name(runs[i].person.major));
        }
    }
    return text;
}

}  // namespace

// Two kinds of codes, as in the server: eight characters of Crockford's base 32.
std::string StudyExport::code(const RunResult& run) const {
    const auto& conditions = plan_.conditions;
    const auto condition = std::ranges::find(conditions, run.condition) - conditions.begin();
    const std::size_t place = run.participant * plan_.participants.applications.size() + run.application;
    return fmt::format("R{:07X}", place * conditions.size() + static_cast<std::size_t>(condition));
}

void StudyExport::turned(const RunResult& run, const Turn& turn) {
    const std::string which = fmt::format("{},{},", code(run), turn.at.time_since_epoch().count());
    for (const PolicySample& policy : turn.policies) {
        for (std::size_t cpu = 0; cpu < policy.cpus.size(); ++cpu) {
            fmt::format_to(std::back_inserter(samples_), "{}{},{},{},{}\n", which, policy.id.value, cpu,
                           policy.current ? std::to_string(policy.current->value) : "", policy.cpus[cpu].value);
        }
    }
    for (const Press& press : turn.presses) {
        fmt::format_to(std::back_inserter(keys_), "{},{},{}\n", code(run), press.at.time_since_epoch().count(),
                       press.key == Key::Performance ? "performance" : "power");
    }
}

std::string StudyExport::runs_table(std::span<const RunResult> runs) const {
    std::string text = "run,participant,position,application,condition,seconds,state\n";
    std::size_t position = 0;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        position = i == 0 || runs[i].participant != runs[i - 1].participant ? 1 : position + 1;
        fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{},complete\n", code(runs[i]),
                       participant_code(runs[i].participant), position,
                       plan_.participants.applications[runs[i].application].name, runs[i].condition.name(),
                       std::chrono::duration_cast<std::chrono::seconds>(plan_.run_time).count());
    }
    return text;
}

std::string StudyExport::ratings_table(std::span<const RunResult> runs) const {
    std::string text = "run,rating,guess\n";
    for (const RunResult& run : runs) {
        fmt::format_to(std::back_inserter(text), "{},{},\n", code(run), run.rating);
    }
    return text;
}

// UDFS takes the presses before the loop sees them, so its runs have no record of presses.
std::string StudyExport::records_table(std::span<const RunResult> runs) const {
    std::string text = "run,started_us,ended_us\n";
    for (const RunResult& run : runs) {
        if (run.condition.rule != Rule::Udfs) {
            fmt::format_to(std::back_inserter(text), "{},0,{}\n", code(run), plan_.run_time.count());
        }
    }
    return text;
}

std::string StudyExport::measures(std::span<const RunResult> runs) const {
    auto measures = nlohmann::ordered_json::array();
    for (const RunResult& run : runs) {
        measures.push_back({{"run", code(run)},
                            {"mean_w", run.watts},
                            {"expanded_uncertainty", 0},
                            {"k", 2},
                            {"coverage", 1},
                            {"calibration", {{"standing", "simulated"}, {"says", "no power was measured"}}}});
    }
    return nlohmann::ordered_json{{"format", "happe-power-measures/1"}, {"measures", measures}}.dump() + "\n";
}

Status StudyExport::write(const std::filesystem::path& folder, const std::string& study,
                          std::span<const RunResult> runs) const {
    const std::array tables{std::pair{"runs", runs_table(runs)},
                            std::pair{"ratings", ratings_table(runs)},
                            std::pair{"records", records_table(runs)},
                            std::pair{"participants", participants_table(runs)},
                            std::pair{"samples", samples_},
                            std::pair{"keys", keys_}};
    for (const auto& [name, text] : tables) {
        if (const Status written = write_file(folder / "export" / fmt::format("{}-{}.csv", study, name), text);
            !written) {
            return written;
        }
    }
    return write_file(folder / "measures.json", measures(runs));
}

}  // namespace happe
