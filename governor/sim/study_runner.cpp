// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/sim/study_runner.h"

#include "governor/sim/in_threads.h"
#include "governor/sim/study_export.h"
#include "governor/system/files.h"

#include <fmt/format.h>
#include <array>

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
