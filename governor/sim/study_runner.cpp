// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/sim/study_runner.h"

#include "governor/sim/in_threads.h"
#include "governor/system/files.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

namespace happe {
namespace {

namespace fs = std::filesystem;

// Writes each run's trace when the next run begins, so that only one trace is in memory.
class TraceFiles {
public:
    TraceFiles(fs::path folder, const StudyPlan& plan) : folder_(std::move(folder)), plan_(plan) {}

    void add(const RunResult& run, const std::string& line) {
        std::string name = fmt::format("participant-{:02}-{}-{}.jsonl", run.participant + 1,
                                       plan_.participants.applications[run.application].name, run.condition.name());
        if (name != name_) {
            write();
            name_ = std::move(name);
        }
        text_ += line;
    }

    // The first error, if there was one.
    Status finish() {
        write();
        return status_;
    }

private:
    void write() {
        if (status_ && !name_.empty()) {
            status_ = write_file(folder_ / name_, text_);
        }
        name_.clear();
        text_.clear();
    }

    fs::path folder_;
    const StudyPlan& plan_;
    std::string name_;
    std::string text_;
    Status status_;
};

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

// Exports one seed of a simulated study in the files that `happe-server analyse` reads: the study server's tables, and
// the runs' mean power as in `happe-power measures`.
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

// Collects the files of the first seed while it simulates the runs.
struct FirstSeed {
    FirstSeed(const fs::path& folder, const StudyPlan& plan) : traces(folder / "traces", plan), rows(plan) {}

    TraceFiles traces;
    StudyExport rows;
};

std::vector<std::vector<RunResult>> run_seeds(const StudyRequest& request, FirstSeed* first) {
    std::vector<std::vector<RunResult>> runs(request.seeds.size());
    in_threads(request.jobs, runs.size(), [&](std::size_t i) {
        StudyHooks hooks{.run_done = request.run_done, .trace = {}, .turned = {}, .drew = {}};
        if (first != nullptr && i == 0) {
            hooks.trace = [first](const RunResult& run, const std::string& line) { first->traces.add(run, line); };
            hooks.turned = [first](const RunResult& run, const Turn& turn) { first->rows.turned(run, turn); };
        }
        runs[i] = run_study(request.plan, request.seeds[i], hooks);
    });
    return runs;
}

Status write_results(const fs::path& folder, const StudyResults& results, const StudyExport& rows) {
    for (const auto& [name, text] :
         {std::pair{"study.json", json_report(results)}, std::pair{"runs.csv", runs_csv(results)},
          std::pair{"tables.txt", text_report(results)}}) {
        if (const Status written = write_file(folder / name, text); !written) {
            return written;
        }
    }
    return rows.write(folder, "simulated-" + results.protocol, results.runs.front());
}

}  // namespace

Status prepare_folder(const fs::path& folder) {
    std::error_code error;
    fs::create_directories(folder / "traces", error);
    if (!error) {
        fs::create_directories(folder / "export", error);
    }
    if (error) {
        return failure(fmt::format("{}: cannot create: {}", folder.string(), error.message()));
    }
    for (const auto& entry : fs::directory_iterator(folder / "traces", error)) {
        if (entry.path().filename().string().starts_with("participant-")) {
            fs::remove(entry.path(), error);
        }
    }
    return error ? Status(failure(fmt::format("{}: {}", (folder / "traces").string(), error.message()))) : Status();
}

Result<StudyResults> run_whole_study(const StudyRequest& request) {
    std::optional<FirstSeed> first;
    if (request.folder) {
        first.emplace(*request.folder, request.plan);
    }
    StudyResults results{.plan = request.plan,
                         .protocol = request.protocol,
                         .seeds = request.seeds,
                         .runs = run_seeds(request, first ? &*first : nullptr),
                         .tables = {}};
    results.tables = tables(results.plan, results.runs);
    if (request.folder) {
        const Status written =
            first->traces.finish().and_then([&] { return write_results(*request.folder, results, first->rows); });
        if (!written) {
            return tl::unexpected<Error>(written.error());
        }
    }
    return results;
}

}  // namespace happe
