// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happed/daemon.h"

#include "governor/happed/configuration_file.h"
#include "governor/keys/key_binding.h"
#include "governor/system/monotonic_clock.h"

#include <sys/signalfd.h>
#include <csignal>
#include <utility>

namespace happe {
namespace {

constexpr const char* kFailing = "failing";

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

WallTime wall_now() {
    return std::chrono::floor<Micros>(std::chrono::system_clock::now());
}

KeyBindings bindings_of(const Configuration& configuration) {
    return *parse_key_bindings(configuration.performance_key, configuration.power_key);
}

}  // namespace

// How it is put together.

Result<std::unique_ptr<Daemon>> Daemon::start(sd_event* event, sd_bus* bus, const DaemonFiles& files) {
    auto configuration = load_configuration(files.configuration);
    if (!configuration) {
        return tl::unexpected<Error>(configuration.error());
    }
    auto store = SqliteProfileStore::open(files.database, wall_now);
    if (!store) {
        return tl::unexpected<Error>(store.error());
    }
    std::unique_ptr<Daemon> daemon(new Daemon(event, bus, files, *std::move(configuration), *std::move(store)));
    return daemon->open_machine()
        .and_then([&] { return daemon->begin_turns_of(event); })
        .and_then([&] { return daemon->bus_.start(); })
        .and_then([&] { return daemon->logind_.start(); })
        .map([&] { return std::move(daemon); });
}

Daemon::Daemon(sd_event* event, sd_bus* bus, const DaemonFiles& files, Configuration configuration,
               std::unique_ptr<SqliteProfileStore> store)
    : configuration_file_(files.configuration),
      configuration_(std::move(configuration)),
      store_(std::move(store)),
      hardware_(files.cpus, files.found),
      presses_(event, bindings_of(configuration_),
               {.pressed = [this] { pressed(); },
                .keyboards_changed = [this] { show(); },
                .failed = [this](const Error& error) { journal_.trouble(error.message, monotonic_now()); }},
               files.keys),
      attention_desk_(attention_, {.changed = [this] { attend(); }, .pressed = [this](Key key) { said(key); }}),
      profile_desk_(*store_, shown_,
                    [this] {
                        if (runs_.session() == nullptr) {  // a run's loop knows its subject's alone
                            new_loop();
                        }
                    }),
      runs_({.runs = files.runs, .device_key = files.device_key}, hardware_, attention_, *store_, journal_,
            {.changed = [this] { run_changed(); }, .failed = [this](const Error& error) { chronicle_.failed(error); }}),
      settings_desk_(event, files.keys.helper, [this] { return reload(); }),
      chronicle_(shown_, journal_, runs_, [this](Key key) { bus_.key_counted(key); }),
      bus_(bus, {attention_desk_, profile_desk_, runs_, settings_desk_}, shown_,
           [this](const std::string& left) { caller_left(left); }),
      logind_(bus, files.seat, [this] { session_changed(); }) {
    shown_.version = HAPPE_VERSION;
}

Status Daemon::open_machine() {
    if (const Status restored = hardware_.restore(); !restored) {
        journal_.warning("what an earlier happed found cannot be given back: " + restored.error().message);
    }
    auto control = hardware_.open(configuration_);
    if (!control) {
        return failure(control.error().message +
                       "; in a virtual machine or container set mode = \"observe\" in happe.toml");
    }
    use(*std::move(control));
    return {};
}

Status Daemon::begin_turns_of(sd_event* event) {
    auto turns = Turns::create(
        event, {.before = [this](MonoTime now) { before_turn(now); }, .after = [this](MonoTime) { after_turn(); }});
    if (!turns) {
        return tl::unexpected<Error>(turns.error());
    }
    turns_ = *std::move(turns);
    new_loop();
    show_settings();
    show();
    EventSource::pointer source = nullptr;
    sd_event_add_signal(event, &source, SIGHUP, on_hangup, this);
    hangup_.reset(source);
    return {};
}

Status Daemon::stop() {
    Status status = runs_.end();
    give_back();
    if (const Status flushed = store_->flush(); !flushed) {
        status = flushed;
    }
    return status;
}

// What happens.

// Turns go on while somebody is served or a run is recorded; else the daemon sleeps.
void Daemon::attend() {
    runs_.follow_attention();
    const bool wanted = attention_.served() != nullptr || attention_.state() == State::Run;
    if (wanted && !turns_->on()) {
        begin_turns();
    } else if (!wanted && turns_->on()) {
        turns_->end();
        turns_->turn_once(monotonic_now());  // serves nobody, and so gives the machine back
    }
    if (attention_.state() == State::Released && logind_.asleep()) {
        logind_.ready_to_sleep();
    }
    show();
}

void Daemon::begin_turns() {
    if (runs_.session() == nullptr && hardware_.changed()) {
        follow_hardware();
    }
    turns_->begin(monotonic_now());
}

// Another program may govern, too: then nobody is served any more.
void Daemon::before_turn(MonoTime now) {
    const Status tended = hardware_.tend(now);
    if (!tended) {
        chronicle_.failed(tended.error());
    }
    if (hardware_.contested() && attention_.state() != State::Contested) {
        const RunSession* const run = runs_.session();
        const bool told = !tended && (run == nullptr || !run->blind());
        attention_.contested(told ? tended.error().message : "another program governs");
        attend();
    }
}

void Daemon::after_turn() {
    if (const auto notice = store_->take_notice()) {
        chronicle_.failed(Error{*notice});
    }
    runs_.turned();
    if (attention_.state() == State::Serving && trouble() != shown_.reason) {
        show();
    }
    bus_.turned();
}

// By a key, or by Feedback. With nobody served the turn only counts the press.
void Daemon::pressed() {
    turns_->pressed(monotonic_now());
}

void Daemon::said(Key key) {
    presses_.say({key, monotonic_now()});
    pressed();
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
    settings_desk_.left(bus_name);
    runs_.left(bus_name);
}

// A run makes room for itself, and so does the end of one: another loop, another focus.
void Daemon::run_changed() {
    const RunSession* const run = runs_.session();
    turns_->end();
    attention_.run(run == nullptr ? std::nullopt
                                  : std::optional(RunFocus{.whom = RunSession::subject_of(run->terms().plan),
                                                           .happe = run->is_happe()}));
    new_loop();
    attend();
}

// What it runs on.

int Daemon::on_hangup(sd_event_source* /*source*/, const signalfd_siginfo* /*info*/, void* data) {
    auto* const self = static_cast<Daemon*>(data);
    if (const auto reloaded = self->reload(); !reloaded) {
        self->journal_.warning("the configuration stays as it was: " + reloaded.error().message);
    }
    return 0;
}

Answer<void> Daemon::reload() {
    if (runs_.session() != nullptr) {
        return refusal(ServiceError::Kind::Busy, "a run is on: stop it first");
    }
    auto read = load_configuration(configuration_file_);
    if (!read) {
        return refusal(ServiceError::Kind::Failed, read.error().message);
    }
    const bool other = read->observe != configuration_.observe || read->calibration != configuration_.calibration;
    auto control = other ? hardware_.open(*read) : nullptr;
    if (!control) {
        return refusal(ServiceError::Kind::Failed, control.error().message);
    }
    const bool rebound = bindings_of(*read) != bindings_of(configuration_);
    configuration_ = *std::move(read);
    if (other) {
        use(*std::move(control));
    }
    if (rebound) {
        presses_.rebind(bindings_of(configuration_));
    }
    attention_.contested("");
    new_loop();
    show_settings();
    journal_.info("configuration read");
    attend();
    return {};
}

// After hotplug, another driver, boost switched. What cannot be governed as it is now is governed as it was.
void Daemon::follow_hardware() {
    auto control = hardware_.open(configuration_);
    if (!control) {
        journal_.warning("the machine's cpufreq policies have changed: " + control.error().message);
        return;
    }
    journal_.info("the machine's cpufreq policies have changed");
    use(*std::move(control));
    new_loop();
}

// In place of the machine before. new_loop() is next.
void Daemon::use(Hardware::Control control) {
    if (turns_) {
        give_back();
        turns_->drop_loop();
    }
    hardware_.take(std::move(control), configuration_.observe);
    const auto policies = hardware_.frequency().policies();
    shown_.policies.assign(policies.begin(), policies.end());
    shown_.backend = hardware_.backend();
}

// What the loop before had taken is given back, so that the new one begins as every loop does. What was pressed under
// it teaches nobody whom the new one serves, and a run's trace has no press from before the run. Nothing of a run, or
// of the person before it, is shown to the other.
void Daemon::new_loop() {
    if (turns_->has_loop()) {
        give_back();
    }
    const MonoTime now = monotonic_now();
    presses_.forget(runs_.session() != nullptr ? now : MonoTime());
    turns_->set_loop({hardware_.utilisation(), hardware_.frequency(), presses_, attention_, *store_, chronicle_},
                     loop_settings(), now);
    shown_.targets.clear();
    shown_.profile.reset();
    shown_.sample.clear();
}

LoopSettings Daemon::loop_settings() const {
    if (const RunSession* const run = runs_.session()) {
        return run->settings();
    }
    return {.algorithm = configuration_.algorithm,
            .feedback = configuration_.immediate ? Feedback::Immediate : Feedback::NextSample,
            .period = configuration_.period};
}

void Daemon::give_back() {
    if (const Status released = hardware_.release(); !released) {
        chronicle_.failed(released.error());
    }
}

// What it shows.

void Daemon::show() {
    const auto keyboards = static_cast<std::uint32_t>(presses_.keyboards());
    if (RunSession* const run = runs_.session(); run != nullptr && keyboards < shown_.keyboards) {
        run->facts().happened(monotonic_now(), "keyboard-lost", "");
    }
    shown_.keyboards = keyboards;
    shown_.holds = attention_desk_.holds();
    show_attention();
    show_run();
    bus_.changed();
}

void Daemon::show_settings() {
    shown_.settings.clear();
    for (auto& [name, value] : describe_settings(configuration_)) {
        shown_.settings.emplace(name, std::move(value));
    }
}

void Daemon::show_attention() {
    const std::string trouble = this->trouble();
    shown_.state = trouble.empty() ? state_name(attention_.state(), hardware_.observes()) : kFailing;
    shown_.reason = trouble.empty() ? attention_.reason() : trouble;
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
}

void Daemon::show_run() {
    const RunSession* const run = runs_.session();
    const bool one = run != nullptr;
    shown_.run = one ? run->code() : std::string();
    shown_.indicator = !one || run->terms().plan.indicator;
    shown_.run_subject = one ? RunSession::subject_of(run->terms().plan).user : std::string();
    shown_.blind = one && run->blind();
    shown_.run_viewer =
        one && run->terms().sight == RunSession::Sight::Blind ? run->terms().owner.bus_name : std::string();
}

// Why not every policy is governed, while somebody is served. A run's trouble is in its facts.
std::string Daemon::trouble() const {
    return attention_.state() == State::Serving ? hardware_.trouble() : std::string();
}

}  // namespace happe
