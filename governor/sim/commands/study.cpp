// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/sim/commands/commands.h"
#include "governor/sim/study_runner.h"
#include "governor/sim/world_report.h"

#include <fmt/format.h>
#include <sysexits.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <string_view>

namespace happe {
namespace {

constexpr std::size_t kMostJobs = 1'024;
constexpr std::size_t kMostSeeds = 10'000;

std::optional<std::uint64_t> number(std::string_view text) {
    std::uint64_t value = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() && value <= UINT32_MAX;
    return whole ? std::optional(value) : std::nullopt;
}

// Reads "7" or "1..10".
Result<std::vector<std::uint64_t>> seeds(const std::string& text) {
    const auto dots = text.find("..");
    const auto first = number(text.substr(0, dots));
    const auto last = dots == std::string::npos ? first : number(text.substr(dots + 2));
    if (!first || !last || *last < *first || *last - *first >= kMostSeeds) {
        return failure(
            fmt::format("--seed {}: must be a number or a range such as 1..10, of at most {} seeds", text, kMostSeeds));
    }
    std::vector<std::uint64_t> all;
    for (std::uint64_t seed = *first; seed <= *last; ++seed) {
        all.push_back(seed);
    }
    return all;
}

// Shows "[######....] 192/480 runs", only on a terminal. Several threads may share it.
class Progress {
public:
    Progress(std::size_t total, bool quiet);

    void clear() const { show("\r\033[K"); }
    void step();

private:
    void show(const std::string& text) const;

    std::atomic<std::size_t> done_{0};
    std::size_t total_;
    bool shown_;
};

Progress::Progress(std::size_t total, bool quiet) : total_(total), shown_(!quiet && isatty(STDERR_FILENO) == 1) {}

void Progress::step() {
    constexpr std::size_t kWidth = 40;
    const std::size_t done = ++done_;
    if (!shown_ || done * 100 / total_ == (done - 1) * 100 / total_) {
        return;
    }
    const std::size_t filled = done * kWidth / total_;
    show(fmt::format("\r[{}{}] {}/{} runs", std::string(filled, '#'), std::string(kWidth - filled, '.'), done, total_));
}

void Progress::show(const std::string& text) const {
    if (shown_) {
        std::fputs(text.c_str(), stderr);
    }
}

struct StudyOptions {
    std::string protocol = "paper";
    std::size_t participants = 0;
    std::string seed = "1";
    std::vector<std::string> also;
    std::string parameters;
    std::string out;
    std::size_t jobs = 1;
    bool json = false;
    bool check = false;
    bool quiet = false;
    std::vector<std::string> worlds;
    std::vector<std::string> machines;
    std::vector<std::string> governors;
    double hours = 10.0;
};

Result<std::string> read_text(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file || std::filesystem::is_directory(path)) {
        return failure(fmt::format("{}: {}", path, errno != 0 ? std::strerror(errno) : "is a directory"));
    }
    return std::string(std::istreambuf_iterator<char>(file), {});
}

Status use_parameters(StudyPlan& plan, const std::string& path) {
    const auto text = read_text(path);
    if (!text) {
        return tl::unexpected<Error>(text.error());
    }
    const auto read = read_participants(*text);
    if (!read) {
        return failure(path + ": " + read.error().message);
    }
    plan.participants = *read;
    return {};
}

Result<StudyPlan> make_plan(const StudyOptions& options) {
    StudyPlan plan = options.protocol == "a3" ? a3_plan() : paper_plan();
    plan.count = options.participants != 0 ? options.participants : plan.count;
    if (!options.parameters.empty()) {
        if (const Status used = use_parameters(plan, options.parameters); !used) {
            return tl::unexpected<Error>(used.error());
        }
    }
    for (const std::string& name : options.also) {
        const Condition condition = *Condition::named(name);
        if (std::ranges::find(plan.conditions, condition) == plan.conditions.end()) {
            plan.conditions.push_back(condition);
        }
    }
    return plan;
}

// The conditions that a user can add: all except HAPPE's, which build on one another in the paper's order.
std::vector<std::string> rivals() {
    std::vector<std::string> names = Condition::names();
    std::erase_if(names, [](const std::string& name) { return Condition::named(name)->is_happe(); });
    return names;
}

int print(const StudyOptions& options, const StudyResults& results) {
    std::cout << (options.json ? json_report(results) : text_report(results));
    const auto figures = against_paper(results.tables);
    const bool out_of_tolerance = options.check && figures.front().figure.strain() > 1.0;
    return flushed(out_of_tolerance ? EXIT_FAILURE : EXIT_SUCCESS);
}

template <typename T>
std::string all_names(std::span<const T> known) {
    std::string names = "all";
    for (const T& each : known) {
        names += fmt::format(", {}", each.name);
    }
    return names;
}

// The named items, each once, in the order of `known`; without a name, the first.
template <typename T>
Result<std::vector<T>> chosen(const char* option, const std::vector<std::string>& names, std::span<const T> known) {
    std::vector<T> result;
    const bool all = std::ranges::find(names, "all") != names.end();
    for (const T& each : known) {
        if (all || std::ranges::find(names, each.name) != names.end()) {
            result.push_back(each);
        }
    }
    for (const std::string& name : names) {
        if (name != "all" && std::ranges::find(known, name, &T::name) == known.end()) {
            return failure(fmt::format("{} {}: unknown; there are {}", option, name, all_names(known)));
        }
    }
    return result.empty() ? std::vector<T>{known.front()} : result;
}

// Simulates hours in named worlds instead of the paper's study.
int study_worlds(const StudyOptions& options) {
    const auto worlds = chosen("--worlds", options.worlds, sim::worlds());
    const auto machines = chosen("--machines", options.machines, sim::machine_kinds());
    const auto wanted = seeds(options.seed);
    if (!worlds || !machines || !wanted) {
        return complain(!worlds ? worlds.error() : !machines ? machines.error() : wanted.error(), EX_USAGE);
    }
    std::vector<Contender> everybody(contenders().begin(), contenders().end());
    std::erase_if(everybody, [&](Contender contender) {
        return !options.governors.empty() && !is_baseline(contender) &&
               std::ranges::find(options.governors, name_of(contender)) == options.governors.end();
    });
    WorldsRequest request{
        .worlds = *worlds,
        .machines = *machines,
        .contenders = everybody,
        .people = options.participants != 0 ? options.participants : 8,
        .time = std::chrono::duration_cast<Micros>(std::chrono::duration<double, std::ratio<3600>>(options.hours)),
        .seeds = *wanted,
        .jobs = options.jobs,
        .run_done = {}};
    Progress progress(machines->size() * worlds->size() * everybody.size() * wanted->size(), options.quiet);
    request.run_done = [&progress] { progress.step(); };
    const auto rows = run_worlds(request);
    progress.clear();
    std::cout << (options.json ? worlds_json(request, rows) : worlds_text(request, rows));
    return flushed(EX_OK);
}

int study(const StudyOptions& options) {
    if (!options.worlds.empty() || !options.machines.empty()) {
        return study_worlds(options);
    }
    const auto wanted = seeds(options.seed);
    if (!wanted) {
        return complain(wanted.error(), EX_USAGE);
    }
    const auto plan = make_plan(options);
    if (!plan) {
        return complain(plan.error(), EX_DATAERR);
    }
    if (options.check && options.protocol == "a3") {
        return complain({"--check: the paper prints no table of section A.3 to check against"}, EX_USAGE);
    }
    StudyRequest request{.plan = *plan, .protocol = options.protocol, .seeds = *wanted, .jobs = options.jobs};
    if (!options.out.empty()) {
        request.folder = options.out;
        if (const Status ready = prepare_folder(*request.folder); !ready) {
            return complain(ready.error(), EX_CANTCREAT);
        }
    }
    Progress progress(wanted->size() * plan->count * plan->conditions.size() * plan->participants.applications.size(),
                      options.quiet);
    request.run_done = [&progress] { progress.step(); };
    const auto results = run_whole_study(request);
    if (!results) {
        return complain(results.error(), EX_IOERR);
    }
    progress.clear();
    return print(options, *results);
}

}  // namespace

void add_study(CLI::App& program, int& status) {
    CLI::App* const command = program.add_subcommand("study", "Run the paper's user study with simulated participants");
    const auto options = std::make_shared<StudyOptions>();
    command
        ->add_option("--protocol", options->protocol,
                     "paper: ondemand, then T-, O- and B-HAPPE (section A.5), and the oracle;\n"
                     "a3: five fixed frequencies in random order (section A.3)")
        ->check(CLI::IsMember({"paper", "a3"}))
        ->capture_default_str();
    command
        ->add_option("--participants", options->participants,
                     "The number of participants [24; a3: 10; of each seed in worlds: 8]")
        ->check(CLI::Range(std::size_t{1}, kMostParticipants));
    command->add_option("--seed", options->seed, "A seed, or a range A..B: then the means over all seeds")
        ->capture_default_str();
    command->add_option("--also", options->also, "Another condition to compare with (may be given more than once)")
        ->check(CLI::IsMember(rivals()));
    command->add_option("--parameters", options->parameters, "Another set of participants than the fitted one (JSON)")
        ->type_name("FILE");
    command->add_option("--jobs", options->jobs, "Seeds to run side by side")
        ->check(CLI::Range(std::size_t{1}, kMostJobs))
        ->capture_default_str();
    command
        ->add_option("--out", options->out,
                     "Write study.json, runs.csv and tables.txt here; and of the first seed traces/, and\n"
                     "export/ with measures.json for happe-server analyse")
        ->type_name("DIR");
    command->add_flag("--json", options->json, "Print JSON");
    command->add_flag("--check", options->check,
                      "Exit with 1 if a figure differs from the paper's by more than its tolerance");
    command->add_flag("--quiet", options->quiet, "No progress bar");
    command
        ->add_option(
            "--worlds", options->worlds,
            "Instead of the paper's study, hours with several applications under every governor, in these worlds\n"
            "[fitted]: " +
                all_names(sim::worlds()))
        ->delimiter(',');
    command
        ->add_option("--machines", options->machines,
                     "The same, on these machines [t61]: " + all_names(sim::machine_kinds()))
        ->delimiter(',');
    std::vector<std::string> governors;
    for (const Contender contender : contenders()) {
        governors.emplace_back(name_of(contender));
    }
    command
        ->add_option("--governors", options->governors,
                     "The same, under these governors beside the baselines ondemand, floor and oracle [all]")
        ->check(CLI::IsMember(governors))
        ->delimiter(',');
    command->add_option("--hours", options->hours, "The simulated hours of each person in a world")
        ->check(CLI::Range(0.1, 1000.0))
        ->capture_default_str();
    for (const char* const paper_only : {"--protocol", "--also", "--parameters", "--out", "--check"}) {
        command->get_option("--worlds")->excludes(command->get_option(paper_only));
        command->get_option("--machines")->excludes(command->get_option(paper_only));
    }
    command->footer(
        "A seed determines participants and applications. Their parameters were fitted to the paper's tables. So agreement\n"
        "with the tables shows that the model can reproduce the study, and is no prediction.\n\n"
        "Examples:\n"
        "  happe-sim study\n"
        "  happe-sim study --seed 1..10 --jobs 2 --check\n"
        "  happe-sim study --also UDFS --also conservative --json | jq .totals\n"
        "  happe-sim study --worlds plausible --machines t61,modern --seed 1..4");
    command->callback([options, &status] { status = study(*options); });
}

}  // namespace happe
