// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/core/loop.h"
#include "governor/core/memory_profiles.h"
#include "governor/documents/json_document.h"
#include "governor/documents/trace_writer.h"
#include "governor/sim/commands/commands.h"
#include "governor/sim/machine.h"
#include "governor/store/sqlite_profile_store.h"
#include "governor/system/borrowed_machine.h"
#include "governor/system/files.h"
#include "governor/system/monotonic_clock.h"
#include "governor/system/proc_stat.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <pwd.h>
#include <sys/signalfd.h>
#include <sysexits.h>
#include <termios.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <memory>

namespace happe {
namespace {

struct ObserveOptions {
    std::int64_t seconds = 0;
    std::string record;
    std::string database;
    std::string user;
    std::string app = kNoApplication;
    std::string stat = "/proc/stat";
    bool immediate = false;
    Settings settings;
    bool json = false;
};

class AlwaysFocus : public FocusSource {
public:
    explicit AlwaysFocus(Served whom) : whom_(std::move(whom)) {}
    [[nodiscard]] const Served* served() const override { return &whom_; }

private:
    Served whom_;
};

void tell_notice(SqliteProfileStore& database) {
    if (const auto notice = database.take_notice()) {
        complain({*notice}, EX_OK);
    }
}

double gigahertz(Khz khz) {
    return khz.value / 1e6;
}

// Shows each turn and records it.
class Screen : public TurnObserver {
public:
    Screen(const ObserveOptions& options, int record) : options_(options), record_(record) {}

    void turned(const Turn& turn) override {
        if (record_ >= 0) {
            record(observation_line(turn));
        }
        if (options_.json) {
            std::cout << decision_line(turn) << std::flush;  // shown() notices a failure
        } else {
            show(turn);
        }
    }
    void failed(const Error& error) override { complain(error, EX_OK); }

    void record(const std::string& line) {
        if (!write_all(record_, line)) {
            complain({fmt::format("{}: recording stopped: {}", options_.record, std::strerror(errno))}, EX_OK);
            record_ = -1;
            recording_failed_ = true;
        }
    }
    // False if the output is closed.
    [[nodiscard]] static bool shown() { return std::cout.good(); }
    [[nodiscard]] bool recording_failed() const { return recording_failed_; }

private:
    void show(const Turn& turn) {
        if (turn.policies.empty()) {
            return;
        }
        const Running& policy = turn.decision.running.front();
        std::ostream& screen = options_.record == "-" ? std::cerr : std::cout;
        if (!headed_) {
            headed_ = true;
            screen << "ran at   utilisation          level    power of a T61                 profile: GHz by level\n";
        }
        const std::string text = power_text(policy.current, policy.utilisation, policy.normalised()) +
                                 uafp_text(*turn.uafp, policy.level) + lesson_text(turn.decision.lesson);
        screen << text << '\n' << std::flush;
    }

    static std::string power_text(Khz ran_at, Ppm utilisation, const NormalisedUtilisation& normalised) {
        const Khz top = t61_ladder().top();
        const double share = utilisation.value / 1e6;
        return fmt::format("{:.1f} GHz  busiest CPU {:3.0f} %  level {}  {:.1f} W (at {:.1f} GHz {:.1f} W)",
                           gigahertz(ran_at), 100 * share, normalised.level().value, sim::t61_watts(ran_at, share),
                           gigahertz(top), sim::t61_watts(top, static_cast<double>(normalised.ppm()) / 1e6));
    }

    static std::string uafp_text(const Uafp& uafp, Level here) {
        std::string text = "  UAFP";
        for (std::size_t level = 0; level < Uafp::kLevels; ++level) {
            const std::string entry = fmt::format("{:.1f}", gigahertz(uafp.values().at(level)));
            text += level == here.value ? " [" + entry + "]" : " " + entry;
        }
        return text;
    }

    static std::string lesson_text(const std::optional<Lesson>& lesson) {
        return lesson ? fmt::format("  {}: level {} learned {:.1f} GHz",
                                    lesson->key == Key::Performance ? "faster" : "save power", lesson->level.value,
                                    gigahertz(lesson->to))
                      : std::string();
    }

    const ObserveOptions& options_;
    int record_;
    bool recording_failed_ = false;
    bool headed_ = false;
};

constexpr std::size_t kKeys = 0;
constexpr std::size_t kSignals = 1;

int watched_signals() {
    sigset_t watched;
    sigemptyset(&watched);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP}) {
        sigaddset(&watched, signal);
    }
    sigprocmask(SIG_BLOCK, &watched, nullptr);
    std::signal(SIGPIPE, SIG_IGN);  // a write to nobody fails instead
    return signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
}

// Makes keys arrive one at a time and without echo; Ctrl-C still signals. Returns the earlier settings, or nothing if
// this is not a terminal.
std::optional<termios> make_raw(int descriptor) {
    termios found{};
    if (tcgetattr(descriptor, &found) != 0) {
        return std::nullopt;
    }
    termios raw = found;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    return tcsetattr(descriptor, TCSANOW, &raw) == 0 ? std::optional(found) : std::nullopt;
}

// Reads single keys at the terminal as presses, and notices when the person leaves. Standard input may also be a pipe
// or closed. Also reads the signals to leave or stop (Ctrl-C, Ctrl-Z, hangup), so that there is time to restore
// everything. Ignores SIGPIPE.
class Terminal : public KeySource {
public:
    enum class Event : std::uint8_t { Time, Keys, Leave };

    Terminal() : found_(make_raw(STDIN_FILENO)), sources_{{{STDIN_FILENO, POLLIN, 0}, {watched_signals(), POLLIN, 0}}} {
        if (found_) {
            std::fputs("A simulated T61 does this machine's work. Keys: f faster, s save power, q quit.\n", stderr);
        }
    }
    ~Terminal() override {
        put_back();
        close(sources_[kSignals].fd);
    }
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;

    // Waits until somebody types, a signal comes, or this time is over.
    Event wait(Micros time) {
        if (leaving_) {
            return Event::Leave;
        }
        const auto wait = std::chrono::ceil<std::chrono::milliseconds>(std::max(time, Micros{0}));
        if (poll(sources_.data(), sources_.size(), static_cast<int>(wait.count())) <= 0) {
            return Event::Time;
        }
        if (sources_[kSignals].revents != 0) {
            return stops() ? Event::Time : Event::Leave;
        }
        return Event::Keys;
    }

    // After Event::Keys: f or + is the performance key, s or - the power key, q leaves. True if there are presses to
    // take.
    bool read(MonoTime now) {
        std::array<char, 64> keys{};
        const ssize_t count = ::read(STDIN_FILENO, keys.data(), keys.size());
        if (count <= 0) {
            sources_[kKeys].fd = -1;  // end of input: no more keys
        }
        for (const char key : std::string_view(keys.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0)))) {
            if (key == 'f' || key == '+') {
                waiting_.push_back({Key::Performance, now});
            } else if (key == 's' || key == '-') {
                waiting_.push_back({Key::Power, now});
            }
            leaving_ = leaving_ || key == 'q';
        }
        return !waiting_.empty();
    }

    void take(std::vector<Press>& presses) override {
        presses.insert(presses.end(), waiting_.begin(), waiting_.end());
        waiting_.clear();
    }

private:
    // Ctrl-Z stops the process, with the terminal restored. Every other watched signal means to leave.
    bool stops() {
        signalfd_siginfo signal{};
        if (::read(sources_[kSignals].fd, &signal, sizeof signal) != sizeof signal || signal.ssi_signo != SIGTSTP) {
            return false;
        }
        put_back();
        raise(SIGSTOP);
        found_ = make_raw(STDIN_FILENO);
        return true;
    }
    void put_back() {
        if (found_) {
            tcsetattr(STDIN_FILENO, TCSANOW, &*found_);
        }
    }

    std::optional<termios> found_;
    std::array<pollfd, 2> sources_{};  // keys, signals
    bool leaving_ = false;
    std::vector<Press> waiting_;
};

// Runs the loop until the time is up, the person types q, a signal comes, or nobody watches any more.
void observe(Loop& loop, Terminal& terminal, MonoTime end, SqliteProfileStore* database) {
    while (monotonic_now() < end && Screen::shown()) {
        const Terminal::Event event = terminal.wait(std::min(loop.due(), end) - monotonic_now());
        if (event == Terminal::Event::Leave) {
            return;
        }
        if (event == Terminal::Event::Keys && terminal.read(monotonic_now())) {
            loop.pressed(monotonic_now());
        }
        if (const MonoTime time = monotonic_now(); time >= loop.due()) {
            loop.turn(time);
            if (database != nullptr) {
                tell_notice(*database);
            }
        }
    }
}

Result<std::unique_ptr<SqliteProfileStore>> open_database(const ObserveOptions& options) {
    if (options.database.empty()) {
        return nullptr;
    }
    auto opened = SqliteProfileStore::open(options.database,
                                           [] { return std::chrono::floor<Micros>(std::chrono::system_clock::now()); });
    if (opened) {
        tell_notice(**opened);
    }
    return opened;
}

// Stores the waiting lessons, or reports their loss.
int close_database(SqliteProfileStore& database, int status) {
    const Status flushed = database.flush();
    tell_notice(database);
    return flushed ? status : complain(flushed.error(), EX_IOERR);
}

LoopSettings loop_settings(const ObserveOptions& options) {
    return {.algorithm = options.settings, .feedback = options.immediate ? Feedback::Immediate : Feedback::NextSample};
}

Result<TraceHeader> trace_header(const ObserveOptions& options, ProfileStore& profiles) {
    auto known = profiles.of_user(options.user);
    if (!known) {
        return tl::unexpected<Error>(known.error());
    }
    return TraceHeader{.settings = options.settings,
                       .immediate = options.immediate,
                       .period = LoopSettings{}.period,
                       .ladders = {{PolicyId{0}, t61_ladder()}},
                       .profiles = *std::move(known)};
}

int open_record(const std::string& path) {
    if (path == "-") {
        return STDOUT_FILENO;
    }
    return open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
}

int govern(const ObserveOptions& options, ProcStat& real, SqliteProfileStore* database, int record) {
    MemoryProfiles memory;
    ProfileStore& profiles = database != nullptr ? static_cast<ProfileStore&>(*database) : memory;
    const auto header = trace_header(options, profiles);
    if (!header) {
        return complain(header.error(), EX_IOERR);
    }
    BorrowedMachine machine(real, BorrowedMachine::t61(static_cast<std::size_t>(sysconf(_SC_NPROCESSORS_CONF))));
    AlwaysFocus focus({options.user, options.app});
    Screen screen(options, record);
    if (record >= 0) {
        screen.record(header_line(*header));
    }
    Terminal terminal;
    Loop loop({machine, machine, terminal, focus, profiles, screen}, loop_settings(options), monotonic_now());
    // The last turn is due when the time is up; it may be a little late.
    const MonoTime end = options.seconds == 0
                             ? MonoTime::max()
                             : monotonic_now() + std::chrono::seconds(options.seconds) + Loop::kShortestSample;
    observe(loop, terminal, end, database);
    return flushed(screen.recording_failed() ? EX_IOERR : EX_OK);
}

int run_observe(const ObserveOptions& options) {
    ProcStat real(options.stat);
    if (const auto readable = real.sample(); !readable) {
        return complain(readable.error(), EX_NOINPUT);
    }
    const auto database = open_database(options);
    if (!database) {
        return complain(database.error(), EX_CANTCREAT);
    }
    const int record = options.record.empty() ? -1 : open_record(options.record);
    if (!options.record.empty() && record < 0) {
        return complain({fmt::format("{}: cannot create: {}", options.record, std::strerror(errno))}, EX_CANTCREAT);
    }
    if (*database) {
        return close_database(**database, govern(options, real, database->get(), record));
    }
    return govern(options, real, nullptr, record);
}

std::string this_user() {
    const passwd* const entry = getpwuid(getuid());
    return entry != nullptr ? entry->pw_name : std::to_string(getuid());
}

// A name as in docs/traces.md.
const CLI::Validator kName(
    [](const std::string& name) {
        constexpr std::size_t kLongest = 255;
        if (name.empty() || name.size() > kLongest) {
            return std::string("must have 1 to 255 bytes");
        }
        return json::is_utf8(name) ? std::string() : std::string("must be UTF-8");
    },
    "NAME");

}  // namespace

void add_observe(CLI::App& program, int& status) {
    constexpr std::int64_t kLongest = 31'536'000;
    CLI::App* const command =
        program.add_subcommand("observe", "Govern a simulated T61 with this machine's real utilisation");
    const auto options = std::make_shared<ObserveOptions>();
    options->user = this_user();
    command->add_option("--seconds", options->seconds, "Stop after so many seconds [when you type q]")
        ->check(CLI::Range(std::int64_t{1}, kLongest));
    CLI::Option* const record =
        command
            ->add_option("--record", options->record,
                         "Write a trace to this file, for happe-sim replay; - is standard output")
            ->type_name("FILE");
    command->add_option("--database", options->database, "Learn into this SQLite file [memory only]")
        ->type_name("FILE");
    command->add_option("--user", options->user, "Whose profile [yours]")->check(kName);
    command->add_option("--app", options->app, "Which application's profile")->check(kName)->capture_default_str();
    command->add_option("--stat", options->stat, "Read this in place of /proc/stat")->type_name("FILE");
    command->add_flag("--immediate", options->immediate, "Act on a key at once instead of at the end of the period");
    command->add_flag("--warm-start", options->settings.warm_start,
                      "Beyond the paper: start from the user's other profiles");
    command->add_flag("--json", options->json, "Print decisions like happe-sim replay");
    command->footer(
        "It changes no frequency of this machine. Each second it prints the simulated frequency, the utilisation, the\n"
        "level, the power by Table A.2, and the profile with the current entry in brackets.\n\n"
        "Examples:\n"
        "  happe-sim observe\n"
        "  happe-sim observe --seconds 60 --record run.jsonl --database profiles.db\n"
        "  echo f | happe-sim observe --seconds 3");
    command->callback([options, record, &status] {
        if (options->json && options->record == "-") {
            throw CLI::ValidationError(record->get_name(), "standard output can't have both the trace and --json");
        }
        status = run_observe(*options);
    });
}

}  // namespace happe
