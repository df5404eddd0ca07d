// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/app/daemon.h"

#include "governor/adapters/mapped_pages.h"
#include "governor/adapters/monotonic_clock.h"

#include <fmt/format.h>
#include <sys/signalfd.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

namespace happe {
namespace {

const char* state_name(State state, bool observing) {
    switch (state) {
        case State::Serving:
            return observing ? "observing" : "governing";
        case State::Released:
            return "released";
        case State::Held:
            return "held";
        case State::Run:
            return "run";
        case State::Contested:
            return "contested";
    }
    return "released";
}

std::vector<PolicyLadder> ladders(std::span<const Policy> policies) {
    std::vector<PolicyLadder> result;
    for (const Policy& policy : policies) {
        result.push_back({policy.id, policy.ladder});
    }
    return result;
}

WallTime wall_now() {
    return std::chrono::floor<Micros>(std::chrono::system_clock::now());
}

}  // namespace

Result<Configuration> load_configuration(const std::filesystem::path& path) {
    std::ifstream file(path);
    if (!file && errno != ENOENT) {
        return failure(fmt::format("{}: {}", path.string(), std::generic_category().message(errno)));
    }
    constexpr std::size_t kMost = std::size_t{65} << 10U;  // read_configuration() refuses more than 64 KiB
    std::string text(kMost, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(file.gcount()));
    return read_configuration(text, path.string(), [](std::string_view key) {
               return parse_key_binding(key).map([](const KeyBinding&) {});
           })
        .and_then([&](const Configuration& configuration) -> Result<Configuration> {
            if (const auto keys = parse_key_bindings(configuration.performance_key, configuration.power_key); !keys) {
                return failure(fmt::format("{}: {}", path.string(), keys.error().message));
            }
            return configuration;
        });
}

// As keyboards do: the oldest is forgotten beyond so many in a period.
void Daemon::Presses::say(const Press& press) {
    if (said.size() >= EvdevKeys::kMostWaiting) {
        said.erase(said.begin());
    }
    said.push_back(press);
}

void Daemon::Presses::take(std::vector<Press>& presses) {
    keys->take(presses);
    presses.insert(presses.end(), said.begin(), said.end());
    said.clear();
    std::ranges::stable_sort(presses, {}, &Press::at);
}

Result<std::unique_ptr<Daemon>> Daemon::start(sd_event* loop, sd_bus* bus, DaemonFiles files) {
    auto configuration = load_configuration(files.configuration);
    if (!configuration) {
        return tl::unexpected<Error>(configuration.error());
    }
    auto daemon = std::unique_ptr<Daemon>(new Daemon(loop, bus, std::move(files), *std::move(configuration)));
    if (const Status opened = daemon->open(); !opened) {
        return tl::unexpected<Error>(opened.error());
    }
    daemon->bus_ = std::make_unique<GovernorBus>(
        bus, GovernorBus::Services{daemon->attention_desk_, *daemon->profile_desk_, *daemon, *daemon}, daemon->shown_,
        [self = daemon.get()](const std::string& left) { self->caller_left(left); });
    bus::take(daemon->messages_, [&](sd_bus_slot** raw) { return sd_bus_add_filter(bus, raw, on_message, daemon.get()); });
    const Status started = daemon->bus_->start().and_then([&] { return daemon->logind_.start(); });
    return started.map([&] { return std::move(daemon); });
}

Daemon::Daemon(sd_event* loop, sd_bus* bus, DaemonFiles files, Configuration configuration)
    : event_(loop),
      files_(std::move(files)),
      configuration_(std::move(configuration)),
      bindings_(*parse_key_bindings(configuration_.performance_key, configuration_.power_key)),
      cpufreq_(files_.cpus),
      chronicle_(shown_, journal_, [this](Key key) { bus_->key_counted(key); }),
      attention_desk_(attention_, {.changed = [this] { attend(); },
                                   .pressed =
                                       [this](Key key) {
                                           presses_.say({key, monotonic_now()});
                                           pressed();
                                       }}),
      traces_(files_.runs),
      logind_(bus, files_.seat, [this] { session_changed(); }) {
    sd_watchdog_enabled(0, &watchdog_usec_);
}

Daemon::~Daemon() = default;

Status Daemon::open() {
    auto opened = SqliteProfileStore::open(files_.database, wall_now);
    if (!opened) {
        return tl::unexpected<Error>(opened.error());
    }
    store_ = *std::move(opened);
    if (const Status machine = open_machine().and_then([this] { return open_keys(); }); !machine) {
        return machine;
    }
    new_loop(loop_settings());
    const Khz f_ref = std::ranges::max(shown_.policies, {}, [](const Policy& policy) {
                          return policy.ladder.top();
                      }).ladder.top();
    profile_desk_ = std::make_unique<ProfileDesk>(*store_, f_ref, [this] { new_loop(loop_settings()); });
    show_settings();
    show();
    auto alarm = Alarm::create(event_, [this] { came_due(); });
    if (!alarm) {
        return tl::unexpected<Error>(alarm.error());
    }
    alarm_ = *std::move(alarm);
    EventSource::pointer source = nullptr;
    sd_event_add_signal(event_, &source, SIGHUP, on_hangup, this);
    hangup_.reset(source);
    return {};
}

Status Daemon::open_machine() {
    if (const Status restored = restore_found(files_.found, cpufreq_); !restored) {
        journal_.warning("what an earlier happed found cannot be given back: " + restored.error().message);
    }
    auto control = CpufreqControl::open(cpufreq_, {.found = files_.found, .speeds = configuration_.calibration});
    if (!configuration_.observe) {
        if (!control) {
            return failure(control.error().message +
                           "; in a virtual machine or container set mode = \"observe\" in happe.toml");
        }
        control_ = *std::move(control);
        machine_ = {&proc_stat_, control_.get()};
        shown_.backend = control_->backend() == Backend::Cap ? "cap" : "setspeed";
    } else {
        const auto policies = control ? (*control)->policies() : std::span<const Policy>();
        borrowed_ = std::make_unique<BorrowedMachine>(
            proc_stat_, control ? std::vector<Policy>(policies.begin(), policies.end())
                                : BorrowedMachine::t61(static_cast<std::size_t>(sysconf(_SC_NPROCESSORS_CONF))));
        machine_ = {borrowed_.get(), borrowed_.get()};
        shown_.backend = "observe";
    }
    const auto policies = machine_.frequency->policies();
    shown_.policies.assign(policies.begin(), policies.end());
    return {};
}

Status Daemon::open_keys() {
    presses_.keys = std::make_unique<EvdevKeys>(
        event_, bindings_,
        EvdevKeys::Hooks{.pressed = [this] { pressed(); },
                         .keyboards_changed = [this] { show(); },
                         .failed = [this](const Error& error) { journal_.trouble(error.message, monotonic_now()); }},
        files_.keys);
    return {};
}

void Daemon::show_settings() {
    shown_.settings = describe_settings(configuration_);
}

LoopSettings Daemon::loop_settings() const {
    if (run_) {
        return {};  // the paper's
    }
    return {.algorithm = configuration_.algorithm,
            .feedback = configuration_.immediate ? Feedback::Immediate : Feedback::NextSample,
            .period = configuration_.period};
}

// What the loop before had taken is given back, so that the new one begins as every loop does.
void Daemon::new_loop(const LoopSettings& settings) {
    if (loop_) {
        give_back();
    }
    loop_ = std::make_unique<Loop>(
        Ports{*machine_.utilisation, *machine_.frequency, presses_, attention_, *store_, chronicle_}, settings,
        monotonic_now());
    shown_.targets.clear();  // and nothing of a run, or of the person before it, is shown to the other
    shown_.profile.reset();
    shown_.sample.clear();
    if (turning_) {
        arm();
    }
}

void Daemon::give_back() {
    if (const Status released = machine_.frequency->release(); !released) {
        chronicle_.failed(released.error());
    }
    lent_ = false;
}

Result<TraceHeader> Daemon::trace_header(const LoopSettings& settings, const std::optional<Served>& whom) {
    TraceHeader header{.settings = settings.algorithm,
                       .immediate = settings.feedback == Feedback::Immediate,
                       .period = settings.period,
                       .ladders = ladders(machine_.frequency->policies()),
                       .profiles = {}};
    if (whom) {
        const auto known = store_->find(*whom);
        if (!known) {
            return tl::unexpected<Error>(known.error());
        }
        if (*known) {
            header.profiles.push_back({*whom, **known});
        }
    }
    return header;
}

// Turns go on while somebody is served or a run is recorded; else the daemon sleeps.
void Daemon::attend() {
    if (run_ && attention_.state() == State::Run && !run_->condition.is_happe() && !lent_) {
        if (const Status lent = lend_machine(); !lent) {
            chronicle_.failed(lent.error());
        }
    } else if (lent_ && attention_.state() != State::Run) {
        give_back();
    }
    const bool wanted = attention_.served() != nullptr || attention_.state() == State::Run;
    if (wanted && !turning_) {
        begin_turns();
    } else if (!wanted && turning_) {
        end_turns();
        loop_->turn(monotonic_now());  // serves nobody, and so gives the machine back
        release_mapped_pages();
    }
    if (attention_.state() == State::Released && logind_.asleep()) {
        logind_.ready_to_sleep();
    }
    show();
}

void Daemon::begin_turns() {
    if (control_ && !run_ && control_->changed()) {
        journal_.info("the machine's cpufreq policies have changed; starting again");
        sd_event_exit(event_, kStartAgain);
    }
    turning_ = true;
    loop_->begin(monotonic_now());
    if (watchdog_usec_ > 0) {
        sd_notifyf(0, "WATCHDOG_USEC=%llu", static_cast<unsigned long long>(watchdog_usec_));
        watchdog_told_ = {};
    }
    arm();
}

void Daemon::end_turns() {
    turning_ = false;
    alarm_->cancel();
    if (watchdog_usec_ > 0) {
        sd_notify(0, "WATCHDOG_USEC=0");
    }
}

void Daemon::arm() {
    alarm_->set(loop_->due());
}

void Daemon::came_due() {
    if (const MonoTime now = monotonic_now(); now >= loop_->due()) {
        turn(now);
    } else {
        arm();
    }
}

void Daemon::turn(MonoTime now) {
    tend(now);
    if (!turning_) {
        return;  // contested: the last turn was made
    }
    loop_->turn(now);
    if (const auto notice = store_->take_notice()) {
        journal_.warning(*notice);
    }
    tell_watchdog(now);
    bus_->turned();
    arm();
    rest(now);
}

void Daemon::tend(MonoTime now) {
    if (!control_) {
        return;
    }
    const Status tended = control_->tend(now);
    if (!tended) {
        chronicle_.failed(tended.error());
    }
    if (control_->contested() && attention_.state() != State::Contested) {
        attention_.contested(tended ? "another program governs" : tended.error().message);
        attend();
    }
}

// By a key, or by Feedback. With nobody served the turn only counts the press.
void Daemon::pressed() {
    const MonoTime now = monotonic_now();
    used_ = true;
    loop_->pressed(now);
    if (!turning_) {
        loop_->turn(now);
    } else if (now >= loop_->due()) {
        turn(now);
    } else {
        arm();
    }
}

void Daemon::session_changed() {
    const auto& before = attention_.active_session();
    const auto& now = logind_.active();
    if (!before || !now || before->id != now->id) {
        attention_.contested("");
    }
    attention_.session(now);
    attention_.asleep(logind_.asleep());
    attend();
}

void Daemon::caller_left(const std::string& bus_name) {
    attention_desk_.left(bus_name);
    if (run_ && run_->owner == bus_name) {
        journal_.warning(fmt::format("run {} ends: who started it has left the bus; its trace is kept", run_->code));
        if (const Status ended = end_run(); !ended) {
            journal_.warning(ended.error().message);
        }
    }
}

void Daemon::tell_watchdog(MonoTime now) {
    if (watchdog_usec_ > 0 && now + configuration_.period - watchdog_told_ > Micros(watchdog_usec_ / 2)) {
        sd_notify(0, "WATCHDOG=1");
        watchdog_told_ = now;
    }
}

// A press or a call needs much code that a turn does not. After a while without any its pages are given back.
void Daemon::rest(MonoTime now) {
    constexpr Micros kQuiet = std::chrono::seconds{10};
    if (std::exchange(used_, false)) {
        rest_at_ = now + kQuiet;
    } else if (rest_at_ && now >= *rest_at_) {
        rest_at_.reset();
        release_mapped_pages();
    }
}

int Daemon::on_message(sd_bus_message* /*message*/, void* data, sd_bus_error* /*error*/) {
    static_cast<Daemon*>(data)->used_ = true;
    return 0;  // for others to handle
}

void Daemon::show() {
    shown_.state = state_name(attention_.state(), borrowed_ != nullptr);
    shown_.reason = attention_.reason();
    shown_.keyboards = static_cast<std::uint32_t>(presses_.keys->keyboards());
    shown_.holds = attention_desk_.holds();
    const auto& session = attention_.active_session();
    shown_.served_uid = session ? std::optional(session->uid) : std::nullopt;
    const Served* const whom = attention_.served();
    const Served shown = whom != nullptr ? *whom : Served{};
    if (shown != Served{shown_.user, shown_.application}) {  // until the next turn nothing is known of the new one
        shown_.profile.reset();
        shown_.sample.clear();
    }
    shown_.user = shown.user;
    shown_.application = shown.app;
    if (bus_) {
        bus_->changed();
    }
}

Status Daemon::stop() {
    Status status;
    if (run_) {
        status = end_run();
    }
    give_back();
    if (const Status flushed = store_->flush(); !flushed) {
        status = flushed;
    }
    return status;
}

int Daemon::on_hangup(sd_event_source* /*source*/, const signalfd_siginfo* /*info*/, void* data) {
    auto* const self = static_cast<Daemon*>(data);
    if (const auto reloaded = self->reload(); !reloaded) {
        self->journal_.warning("the configuration stays as it was: " + reloaded.error().message);
    }
    return 0;
}

// Whether it would start with this configuration.
Status Daemon::try_machine(const Configuration& configuration) {
    return configuration.observe
               ? Status()
               : CpufreqControl::open(cpufreq_, {.found = files_.found, .speeds = configuration.calibration})
                     .map([](const auto& /*control*/) {});
}

Answer<void> Daemon::reload() {
    if (run_) {
        return refusal(ServiceError::Kind::Busy, "a run is on: stop it first");
    }
    auto read = load_configuration(files_.configuration);
    if (!read) {
        return refusal(ServiceError::Kind::Failed, read.error().message);
    }
    if (read->observe != configuration_.observe || read->calibration != configuration_.calibration) {
        if (const Status machine = try_machine(*read); !machine) {
            return refusal(ServiceError::Kind::Failed, machine.error().message);
        }
        sd_event_exit(event_, kStartAgain);  // with another machine
    }
    configuration_ = *std::move(read);
    const KeyBindings bindings = *parse_key_bindings(configuration_.performance_key, configuration_.power_key);
    if (bindings != bindings_) {
        bindings_ = bindings;
        presses_.keys->rebind(bindings);
    }
    attention_.contested("");
    new_loop(loop_settings());
    show_settings();
    journal_.info("configuration read");
    attend();
    return {};
}

void Daemon::learn_key(Micros timeout, std::function<void(Answer<std::string>)> learned) {
    if (learning_) {
        learned(refusal(ServiceError::Kind::Busy, "a key is being learned already"));
        return;
    }
    constexpr Micros kGrace = std::chrono::seconds{5};
    const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(timeout);
    auto asked = KeyHelperCall::ask(
        event_, files_.keys.helper, LearnRequest{milliseconds}, timeout + kGrace,
        [this, learned](const Result<KeyAnswers>& answers) {
            const auto ended = std::move(learning_);  // once this returns
            if (!answers) {
                learned(refusal(ServiceError::Kind::Failed, answers.error().message));
            } else if (!answers->learned) {
                learned(refusal(ServiceError::Kind::NotFound,
                                "no key that types no text was pressed within the time"));
            } else {
                learned(std::string(key_name(*answers->learned)));
            }
        });
    if (!asked) {
        learned(refusal(ServiceError::Kind::Failed, asked.error().message));
        return;
    }
    learning_ = *std::move(asked);
}

}  // namespace happe
