// SPDX-License-Identifier: GPL-2.0-or-later
// happectl run: a study's run, and its trace.
#include "governor/documents/run_plan.h"
#include "governor/happectl/commands.h"
#include "governor/happectl/files.h"
#include "governor/happectl/view.h"
#include "governor/happectl/waiter.h"
#include "governor/system/monotonic_clock.h"

#include <fmt/format.h>
#include <unistd.h>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <optional>

namespace happe::ctl {
namespace {

struct RunOptions {
    RunPlan plan;
    bool every_application = false;
    bool blind = false;
    SealedRun sealed_run;
    std::string sealed;  // a file
    std::string out;
    std::uint32_t seconds = 0;  // 0: without limit
    std::vector<std::string> command;
    std::string code;  // the run to fetch
    bool json = false;
};

// A line on the terminal that says how long the run has lasted.
class Progress {
public:
    explicit Progress(std::string run) : run_(std::move(run)), shown_(::isatty(STDERR_FILENO) != 0) {}
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    ~Progress() {
        if (shown_ && begun_) {
            std::fputs("\n", stderr);
        }
    }

    void show(std::int64_t seconds, std::uint32_t of) {
        if (shown_) {
            begun_ = true;
            const std::string limit = of > 0 ? fmt::format(" of {} s", of) : " s, Ctrl-C ends it";
            std::fputs(fmt::format("\rrun {}: {}{} ", printable(run_, {}), seconds, limit).c_str(), stderr);
        }
    }

private:
    std::string run_;
    bool shown_;
    bool begun_ = false;
};

std::string how_to_fetch(const std::string& run) {
    return fmt::format("fetch the trace with: happectl run fetch {} --out FILE", printable(run, {}));
}

struct Saved {
    std::filesystem::path path;
    std::size_t bytes = 0;
};

Outcome<Saved> copy_into(NewFile& file, int trace) {
    const auto bytes = file.copy(trace);
    const auto path = bytes.and_then([&](std::size_t) { return file.publish(); });
    return path ? Outcome<Saved>(Saved{*path, *bytes}) : pass_on(path);
}

// Saves a trace elsewhere if its own file cannot be written. Uses the run's code as a file name only if it is a plain
// word.
Outcome<Saved> rescue(const std::string& run, int trace) {
    const bool plain =
        run.find_first_not_of("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_") == std::string::npos;
    auto file = NewFile::create(fmt::format("/var/tmp/happe-{}.jsonl", plain ? run : "run"));
    return file ? copy_into(*file, trace) : pass_on(file);
}

Trouble with_advice(const Trouble& trouble, const std::string& advice) {
    return {trouble.status, trouble.message + "; " + advice};
}

Outcome<int> save(DaemonProxy& daemon, const std::string& run, NewFile& file, bool json) {
    const auto trace = daemon.call(method::kStopRun, run);
    if (!trace) {
        const bool none = trace.error().status == EX_NOINPUT;
        return tl::unexpected<Trouble>(none ? trace.error() : with_advice(trace.error(), how_to_fetch(run)));
    }
    const auto saved = copy_into(file, trace->get());
    if (!saved) {
        const auto rescued = rescue(run, trace->get());
        const std::string advice = rescued ? "the trace is in " + rescued->path.string() : how_to_fetch(run);
        return tl::unexpected<Trouble>(with_advice(saved.error(), advice));
    }
    if (json) {
        say(json_text({{"run", run}, {"trace", saved->path.string()}, {"bytes", saved->bytes}}));
    } else {
        remark(fmt::format("run {}: {} ({} bytes)", run, saved->path.string(), saved->bytes));
    }
    return EX_OK;
}

// A run lasts until its time is up, its command ends or a signal comes; without a command, also until happed has gone.
class RunDuration {
public:
    RunDuration(Waiter& waiter, const RunOptions& options, const std::string& run)
        : waiter_(waiter), options_(options), progress_(run) {}

    // The command's exit status; 0 without a command or after its time.
    int last(std::optional<Child>& child) {
        for (;;) {
            const std::int64_t seconds = (monotonic_now() - begun_) / kSecond;
            progress_.show(seconds, options_.seconds);
            const Waiter::Event event = waiter_.wait(begun_ + (seconds + 1) * kSecond, child ? &*child : nullptr);
            if (event == Waiter::Event::Ended) {
                const int status = child->wait();
                return late_ ? EX_OK : status;
            }
            if (ends(event)) {
                if (!child) {
                    return EX_OK;
                }
                tell(*child, event);
            }
        }
    }

    [[nodiscard]] bool daemon_left() const { return left_; }

private:
    static constexpr Micros kSecond = std::chrono::seconds{1};

    // True if the event ends the run. Reports only once that the time is up.
    bool ends(Waiter::Event event) {
        const bool was_late = late_;
        late_ = options_.seconds > 0 && monotonic_now() >= begun_ + options_.seconds * kSecond;
        left_ = left_ || event == Waiter::Event::Left;
        return event == Waiter::Event::Signal || event == Waiter::Event::Left || (late_ && !was_late);
    }

    void tell(const Child& child, Waiter::Event event) const {
        if (event == Waiter::Event::Signal) {
            waiter_.pass_signal_to(child);
        } else if (event == Waiter::Event::Left) {
            remark("happed ended, and the run with it; the command continues");
        } else {
            child.tell(SIGTERM);
        }
    }

    Waiter& waiter_;
    const RunOptions& options_;
    Progress progress_;
    MonoTime begun_ = monotonic_now();
    bool late_ = false;
    bool left_ = false;
};

// Waits for the end of the command, or without a command for the end of the run.
Outcome<int> attend(Waiter& waiter, const RunOptions& options, const std::string& run, bool& left) {
    std::optional<Child> child;
    if (!options.command.empty()) {
        auto started = Child::start(options.command, waiter.found_mask());
        if (!started) {
            return pass_on(started);
        }
        child.emplace(*std::move(started));
    }
    RunDuration duration(waiter, options, run);
    const int status = duration.last(child);
    left = duration.daemon_left();
    return status;
}

RunRequest request_of(const RunOptions& options) {
    return {.plan = options.plan,
            .sealed = options.sealed.empty() ? std::nullopt : std::optional(options.sealed_run),
            .blind = options.blind};
}

Outcome<int> live(DaemonProxy& daemon, const RunOptions& options, NewFile& file) {
    Waiter waiter(daemon, Waiter::kEndings);
    const auto run = daemon.call(method::kStartRun, request_of(options));
    if (!run) {
        return pass_on(run);
    }
    bool left = false;
    const Outcome<int> status = attend(waiter, options, *run, left);
    if (left) {
        return trouble(EX_UNAVAILABLE, "happed ended, and the run with it; when it is back, " + how_to_fetch(*run));
    }
    const auto saved = save(daemon, *run, file, options.json);
    return saved ? status : saved;
}

// Creates the file first, so that no run begins without a place for its trace.
Outcome<int> with_file(const RunOptions& options, Outcome<int> (*action)(DaemonProxy&, const RunOptions&, NewFile&)) {
    auto file = NewFile::create(options.out);
    if (!file) {
        return pass_on(file);
    }
    return with_daemon([&](DaemonProxy& daemon) { return action(daemon, options, *file); });
}

Outcome<int> fetch(DaemonProxy& daemon, const RunOptions& options, NewFile& file) {
    return save(daemon, options.code, file, options.json);
}

// The required option that is missing; null if none is.
const char* missing(const RunOptions& options) {
    const RunPlan& plan = options.plan;
    using Required = std::pair<const std::string&, const char*>;
    const auto first = [](std::initializer_list<Required> all) {
        const auto* const found = std::ranges::find_if(all, [](const Required& one) { return one.first.empty(); });
        return found == all.end() ? nullptr : found->second;
    };
    return options.sealed.empty() ? first({{plan.condition, "--condition"},
                                           {plan.subject, "--subject"},
                                           {options.every_application ? plan.subject : plan.application,
                                            "--application or --every-application"},
                                           {options.out, "--out"}})
                                  : first({{options.sealed_run.study, "--study"},
                                           {options.sealed_run.run, "--run"},
                                           {options.out, "--out"}});
}

// Reads the study server's answer, which is base64.
Outcome<std::string> read_seal(const std::string& file) {
    constexpr std::size_t kLongest = 4096;
    return read_input(file, kLongest).and_then([&](const std::string& text) -> Outcome<std::string> {
        const auto seal = bytes_of_base64(text);
        return seal && !seal->empty() ? Outcome<std::string>(*seal)
                                      : trouble(EX_DATAERR, fmt::format("{}: not base64", file));
    });
}

Outcome<int> start(RunOptions options) {
    if (const char* const name = missing(options)) {
        return trouble(EX_USAGE, fmt::format("{} is required; see happectl run --help", name));
    }
    if (options.json && options.out == "-") {
        return trouble(EX_USAGE, "--json and --out -: standard output can't have both");
    }
    if (!options.sealed.empty()) {
        auto seal = read_seal(options.sealed);
        if (!seal) {
            return pass_on(seal);
        }
        options.sealed_run.seal = *std::move(seal);
    }
    return with_file(options, live);
}

Outcome<int> show_facts(DaemonProxy& daemon, const RunOptions& options) {
    return daemon.call(method::kRunFacts, options.code).map([](const std::string& facts) {
        say(facts + "\n");
        return EX_OK;
    });
}

std::string condition_mistake(const std::string& name) {
    return condition::is_known(name) ? ""
                                     : "must be ondemand, T-HAPPE, O-HAPPE, B-HAPPE, L-HAPPE or fixed-N with N from 1";
}

void add_plan(CLI::App& command, RunOptions& options) {
    command
        .add_option("--condition", options.plan.condition, "ondemand, T-HAPPE, O-HAPPE, B-HAPPE, L-HAPPE, or fixed-N")
        ->check(CLI::Validator(condition_mistake, "CONDITION"));
    command.add_option("--subject", options.plan.subject, "The participant's code")->check(kName);
    CLI::Option* const application =
        command.add_option("--application", options.plan.application, "What the participant uses")->check(kName);
    command
        .add_flag("--every-application", options.every_application,
                  "Learn for each application that the person at the machine uses")
        ->excludes(application);
    command.add_option("--sampling-rate-us", options.plan.sampling_rate_us, "ondemand's tunable")
        ->check(CLI::Range(1U, UINT32_MAX));
    command.add_option("--up-threshold", options.plan.up_threshold, "ondemand's tunable, percent")
        ->check(CLI::Range(1U, 100U));
    command
        .add_option(
            "--epp", options.plan.epp,
            "Energy performance preference: performance,\nbalance_performance, balance_power or power [as it is]")
        ->check(CLI::IsMember(std::vector<std::string>(kEpps.begin(), kEpps.end())).description(""))
        ->needs(command.get_option("--condition"));
    command.add_flag("--blind", options.blind, "Hide the decisions from everybody else during the run");
    command.add_flag("--indicator", options.plan.indicator, "Show the battery indicator; B-HAPPE does so anyway");
}

void add_sealed(CLI::App& command, RunOptions& options) {
    CLI::Option* const sealed =
        command.add_option("--sealed", options.sealed, "The sealed condition, in base64; - is standard input");
    for (const char* const other : {"--condition", "--subject", "--application", "--every-application",
                                    "--sampling-rate-us", "--up-threshold", "--blind", "--indicator"}) {
        sealed->excludes(command.get_option(other));
    }
    command.add_option("--study", options.sealed_run.study, "Its study")->check(kName)->needs(sealed);
    command.add_option("--run", options.sealed_run.run, "The study server's code for the run")
        ->check(kName)
        ->needs(sealed);
}

// Adds the subcommands for runs that have ended.
void add_afterwards(CLI::App& command, const std::shared_ptr<RunOptions>& options, Task& task) {
    CLI::App* const again = command.add_subcommand("fetch", "Fetch the trace of a run that ended without its owner");
    again->add_option("RUN", options->code, "The run's code")->required()->check(kName);
    again->add_option("--out", options->out, "The file for the trace; - is standard output")->required();
    again->add_flag("--json", options->json, "Print the run's code and file as JSON");
    again->callback([options, &task] { task = [options] { return with_file(*options, fetch); }; });
    CLI::App* const facts =
        command.add_subcommand("facts", "Print the rest of a run's record, besides its trace, as JSON");
    facts->add_option("RUN", options->code, "The run's code")->required()->check(kName);
    with_daemon(*facts, task, options, show_facts);
}

}  // namespace

void add_run(CLI::App& program, Task& task) {
    CLI::App* const command =
        program.add_subcommand("run", "Run a command under one condition of a study, and save the trace");
    const auto options = std::make_shared<RunOptions>();
    add_plan(*command, *options);
    add_sealed(*command, *options);
    command->add_option("--out", options->out, "The file for the trace, JSON lines; - is standard output");
    command->add_option("--seconds", options->seconds, "Stop the run and the command after so many [no limit]")
        ->check(CLI::Range(1U, 86'400U));
    command->add_flag("--json", options->json, "Print the run's code and file as JSON");
    command->add_option("COMMAND", options->command, "The command and its arguments, after -- [until Ctrl-C]");
    command->footer(  // before the subcommands, which CLI11 hands it down to
        "Begins a run with the paper's settings (L-HAPPE: mode extended), ends it with the command, after the time or on\n"
        "Ctrl-C, and saves the trace (docs/traces.md). Give --condition, --subject, --application or --every-application,\n"
        "and --out; or --sealed, --study, --run and --out. In a sealed run only happed knows the condition, and no program\n"
        "shows its decisions. While the screen is locked or the machine sleeps, the run pauses. Ctrl-C saves the trace too.\n"
        "The exit status is the command's. Only for administrators.\n\n"
        "Examples:\n"
        "  happectl run --condition O-HAPPE --subject P07 --application torcs --out p07.jsonl -- torcs\n"
        "  happectl run --condition ondemand --up-threshold 80 --subject P07 --application torcs --blind \\\n"
        "      --seconds 120 --out p07-1.jsonl\n"
        "  happectl run --condition O-HAPPE --subject P07 --every-application --seconds 28800 --out day.jsonl\n"
        "  happectl run --sealed p07-1.seal --study paper-a3 --run 7ZK3M9QA --out p07-1.jsonl -- torcs\n"
        "  happectl run fetch 4f2a --out p07.jsonl\n"
        "  happectl run facts 4f2a");
    add_afterwards(*command, options, task);
    command->callback([options, command, &task] {
        if (command->get_subcommands().empty()) {
            task = [options] { return start(*options); };
        }
    });
}

}  // namespace happe::ctl
