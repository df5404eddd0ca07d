// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happed/daemon.h"

#include "governor/happed/configuration_file.h"
#include "governor/keys/key_binding.h"
#include "governor/system/monotonic_clock.h"

#include <fmt/format.h>
#include <sys/signalfd.h>
#include <sysexits.h>
#include <csignal>
#include <system_error>
#include <utility>

namespace happe {
namespace {

WallTime wall_now() {
    return std::chrono::floor<Micros>(std::chrono::system_clock::now());
}

KeyBindings bindings_of(const Configuration& configuration) {
    return *parse_key_bindings(configuration.performance_key, configuration.power_key);
}

// Restores what an earlier happed could not, and opens the machine by the configuration.
Status open_machine(Hardware& hardware, const Configuration& configuration, bool epp_is_others) {
    const Status left = hardware.leave_epp(epp_is_others);
    if (const Status restored = left ? hardware.restore() : left; !restored) {
        SystemLog().warning("the state that an earlier happed found cannot be restored: " + restored.error().message);
    }
    auto control = hardware.open(configuration);
    if (!control) {
        return failure(control.error().message +
                       "; in a virtual machine or container set mode = \"observe\" in happe.toml");
    }
    hardware.take(*std::move(control), configuration.observe);
    return {};
}

}  // namespace

// Construction.

tl::expected<std::unique_ptr<Daemon>, Daemon::Failure> Daemon::start(EventLoop& event, sd_bus* bus,
                                                                     const DaemonFiles& files) {
    const auto failed = [](const Error& error, int exit) { return tl::unexpected<Failure>(Failure{error, exit}); };
    auto configuration = load_configuration(files.configuration);
    if (!configuration) {
        return failed(configuration.error(), EX_CONFIG);
    }
    if (bus::find_owner(bus, kDaemonName) >= 0) {  // before this one restores what the other has changed
        return failed(Error{fmt::format("{} is taken on the bus: another happed runs", kDaemonName)}, EX_TEMPFAIL);
    }
    auto store = SqliteProfileStore::open(files.database, wall_now);
    if (!store) {
        return failed(store.error(), EX_IOERR);
    }
    auto hardware = std::make_unique<Hardware>(files.cpus, files.stat, files.found);
    if (const Status machine = open_machine(*hardware, *configuration, PowerProfiles::has_daemon(bus)); !machine) {
        return failed(machine.error(), EX_UNAVAILABLE);
    }
    try {
        std::unique_ptr<Daemon> daemon(
            new Daemon(event, bus, files, *std::move(configuration), *std::move(store), std::move(hardware)));
        if (const Status listens = daemon->listen(); !listens) {
            return failed(listens.error(), EX_TEMPFAIL);
        }
        return daemon;
    } catch (const std::system_error& no_timer) {
        return failed(Error{no_timer.what()}, EX_TEMPFAIL);
    }
}

Daemon::Daemon(EventLoop& event, sd_bus* bus, const DaemonFiles& files, Configuration configuration,
               std::unique_ptr<SqliteProfileStore> store, std::unique_ptr<Hardware> hardware)
    : configuration_file_(files.configuration),
      configuration_(std::move(configuration)),
      store_(std::move(store)),
      hardware_(std::move(hardware)),
      power_(files.power, [this] { source_changed(); }),
      presses_(event, bindings_of(configuration_),
               {.pressed = [this] { pressed(); },
                .keyboards_changed = [this] { show(); },
                .failed = [this](const Error& error) { log_.trouble(error.message, monotonic_now()); }},
               files.keys),
      attention_requests_(attention_,
                          {.changed = [this] { attend(); }, .pressed = [this](Key key) { return said(key); }}),
      profile_requests_(*store_, shown_, log_,
                        [this] {
                            if (runs_.session() == nullptr) {  // a run's loop knows only its subject's profile
                                profiles_changed();
                            }
                        }),
      runs_({.runs = files.runs, .device_key = files.device_key}, *hardware_, attention_, *store_, log_,
            {.begins = [this] { look_at_hardware(); },
             .changed = [this] { run_changed(); },
             .failed = [this](const Error& error) { recorder_.failed(error); }}),
      settings_requests_(event, files.keys.helper, [this] { return reload(); }),
      day_(wall_now, DayTally::local_day),
      recorder_(shown_, log_, runs_, power_, day_, [this](Key key) { bus_.key_counted(key); }),
      timer_(event, {.before = [this](MonoTime now) { before_turn(now); },
                     .after = [this](MonoTime now) { after_turn(now); }}),
      contest_wait_(
          event, [this] { return hardware_->scene(); },
          [this] {
              attention_.contested("");
              attend();
          }),
      bus_(bus, {attention_requests_, profile_requests_, runs_, settings_requests_, day_}, shown_,
           [this](const std::string& left) { caller_left(left); }),
      logind_(bus, files.seat, [this] { session_changed(); }),
      power_profiles_(bus, [this] { power_profile_changed(); }) {
    shown_.version = HAPPE_VERSION;
    if (const Status watched = power_.watch(event); !watched) {
        log_.warning(watched.error().message);
    }
    EventSource::pointer source = nullptr;
    sd_event_add_signal(event.get(), &source, SIGHUP, on_hangup, this);
    hangup_.reset(source);
    follow_power_profiles();
    follow_source();
    show_machine();
    new_loop();
    show_settings();
    show();
    follow_store();
}

Status Daemon::listen() {
    return power_profiles_.start().and_then([this] { return bus_.start(); }).and_then([this] {
        return logind_.start();
    });
}

Status Daemon::stop() {
    Status status = runs_.end();
    give_back();
    for (const Status& stored : {store_->flush(), store_->store_patience(), store_->copy_if_due()}) {
        if (!stored) {
            status = stored;
        }
    }
    return status;
}

// Events.

// The loop turns while happed serves somebody or records a run; otherwise the daemon sleeps.
void Daemon::attend() {
    runs_.follow_attention();
    const bool wanted = attention_.served() != nullptr || attention_.state() == State::Run;
    if (wanted && !timer_.on()) {
        begin_turns();
    } else if (!wanted && timer_.on()) {
        timer_.end();
        timer_.turn_once(monotonic_now());  // serves nobody, and so restores the machine
        if (const Status stored = store_->store_patience(); !stored) {
            recorder_.failed(stored.error());
        }
    }
    if (attention_.state() == State::Released && logind_.asleep()) {
        logind_.ready_to_sleep();
    }
    show();
}

void Daemon::begin_turns() {
    if (runs_.session() == nullptr) {
        look_at_hardware();
    }
    timer_.begin(monotonic_now());
}

// If another program governs too, happed serves nobody from now on.
void Daemon::before_turn(MonoTime now) {
    const Status tended = hardware_->keep_up(now);
    if (!tended) {
        recorder_.failed(tended.error());
    }
    if (hardware_->outdated() && runs_.session() == nullptr) {
        follow_hardware();
        show();
        return;
    }
    if (hardware_->outdated()) {
        runs_.session()->facts().happened(now, "other", "the machine's cpufreq policies have changed");
    }
    attention_.front_used(front_time_.used_by(attention_.cgroup_in_front()));
    tell_limits(now);
    tell_epp(now);
    if (hardware_->contested() && attention_.state() != State::Contested) {
        const RunSession* const run = runs_.session();
        const bool told = !tended && (run == nullptr || !run->blind());
        contest(told ? tended.error().message : "another program governs", now);
    }
}

// The contest ends when the other program has been quiet for long enough.
void Daemon::contest(std::string reason, MonoTime now) {
    attention_.contested(std::move(reason));
    contest_wait_.begin(now, configuration_.period);
    attend();
}

// Call when another session is active, or after happed has read the configuration again. HAPPE then tries again.
void Daemon::end_contest() {
    attention_.contested("");
    contest_wait_.cancel();
}

void Daemon::after_turn(MonoTime now) {
    attention_.turned();
    look_at_copy(now);
    follow_store();
    runs_.turned();
    if (attention_.state() == State::Serving && (trouble() != shown_.reason || hardware_->limits() != shown_.limits)) {
        show();
    }
    bus_.turned();
}

void Daemon::look_at_copy(MonoTime now) {
    constexpr Micros kBetweenLooks = std::chrono::hours{1};
    if (now - looked_at_copy_ >= kBetweenLooks) {
        looked_at_copy_ = now;
        if (const Status copied = store_->copy_if_due(); !copied) {
            recorder_.failed(copied.error());
        }
    }
}

void Daemon::follow_store() {
    if (const auto notice = store_->take_notice()) {
        recorder_.failed(Error{*notice});
        told_of_store_ = *notice;
        show();
    }
}

// Somebody pressed a key or called Feedback. If happed serves nobody, the turn only counts the press.
void Daemon::pressed() {
    timer_.pressed(monotonic_now());
}

bool Daemon::said(Key key) {
    const bool allowed = presses_.say({key, monotonic_now()});
    if (allowed) {
        pressed();
    }
    return allowed;
}

void Daemon::session_changed() {
    const auto& before = attention_.active_session();
    const auto& now = logind_.active();
    if (!before || !now || before->id != now->id) {
        end_contest();
    }
    attention_.session(now);
    const bool woke = attention_.is_asleep() && !logind_.asleep();
    attention_.asleep(logind_.asleep());
    if (woke) {
        power_.look_again();
    }
    attend();
}

void Daemon::caller_left(const std::string& bus_name) {
    attention_requests_.left(bus_name);
    settings_requests_.left(bus_name);
    runs_.left(bus_name);
}

// A run has begun or ended: both need a new loop and another focus.
void Daemon::run_changed() {
    const RunSession* const run = runs_.session();
    timer_.end();
    attention_.run(run == nullptr ? std::nullopt
                                  : std::optional(RunFocus{.whom = RunSession::subject_of(run->terms().plan),
                                                           .happe = run->is_happe()}));
    new_loop();
    attend();
}

// A run only notes the change. Otherwise, if the two sources have different preferences, a new loop sets the other one.
void Daemon::source_changed() {
    follow_source();
    if (RunSession* const run = runs_.session()) {
        run->facts().happened(monotonic_now(), "power", power_.source() ? name_of(*power_.source()) : "unknown");
    } else if (configuration_.mains_epp != configuration_.battery_epp) {
        new_loop();
    }
    attend();
}

// The profile changes nothing in a run, which only notes it. The run's preference is the other program's now, too.
void Daemon::power_profile_changed() {
    const bool epp_changes = power_profiles_.has_daemon() != hardware_->leaves_epp();
    follow_power_profiles();
    if (RunSession* const run = runs_.session()) {
        const std::string& active = power_profiles_.active();
        run->facts().happened(monotonic_now(), "other", "power profile: " + (active.empty() ? "none" : active));
    } else if (epp_changes && !(configuration_.mains_epp + configuration_.battery_epp).empty()) {
        new_loop();
    }
    attend();
}

void Daemon::follow_power_profiles() {
    attention_.power_profile(power_profiles_.active());
    if (const Status left = hardware_->leave_epp(power_profiles_.has_daemon()); !left) {
        recorder_.failed(left.error());
    }
}

void Daemon::follow_source() {
    attention_.hint_delay(configuration_.hint_delay);
    const bool plugged = power_.source() == PowerSource::Mains;
    attention_.aside(plugged && !configuration_.govern_on_mains);
    attention_.profiles_of(plugged && configuration_.own_profiles_on_mains ? PowerSource::Mains : PowerSource::Both);
}

// Configuration and hardware.

int Daemon::on_hangup(sd_event_source* /*source*/, const signalfd_siginfo* /*info*/, void* data) {
    auto* const self = static_cast<Daemon*>(data);
    if (const auto reloaded = self->reload(); !reloaded) {
        self->log_.warning("the old configuration stays in force: " + reloaded.error().message);
    }
    return 0;
}

Answer<void> Daemon::reload() {
    if (runs_.session() != nullptr) {
        return refusal(ServiceError::Kind::Busy, "a run is in progress: stop it first");
    }
    auto read = load_configuration(configuration_file_);
    if (!read) {
        return refusal(ServiceError::Kind::Failed, read.error().message);
    }
    const bool other = read->observe != configuration_.observe || read->calibration != configuration_.calibration ||
                       read->ladder_steps != configuration_.ladder_steps;
    std::optional<Hardware::Control> machine;
    if (other) {
        auto control = hardware_->open(*read);
        if (!control) {
            return refusal(ServiceError::Kind::Failed, control.error().message);
        }
        machine = *std::move(control);
    }
    const bool rebound = bindings_of(*read) != bindings_of(configuration_);
    configuration_ = *std::move(read);
    if (rebound) {
        presses_.rebind(bindings_of(configuration_));
    }
    end_contest();
    follow_source();
    new_loop(std::move(machine));
    show_settings();
    log_.info("configuration read");
    attend();
    return {};
}

void Daemon::look_at_hardware() {
    if (hardware_->changed()) {
        follow_hardware();
    }
}

// Call after hotplug, a change of driver, or a switch of boost. If happed cannot govern the new state, it keeps the old
// one.
void Daemon::follow_hardware() {
    auto control = hardware_->open(configuration_);
    if (!control) {
        log_.trouble("the machine's cpufreq policies have changed: " + control.error().message, monotonic_now());
        return;
    }
    log_.info("the machine's cpufreq policies have changed");
    new_loop(*std::move(control));
}

// Replaces the loop, and with `machine` also the machine that it runs on. Restores the machine first, so that every
// loop begins alike. Drops waiting presses: they must not teach the new loop's user, and a run's trace has no press
// from before the run. Clears the shown state, so that neither a run nor the person before it sees the other's data.
void Daemon::new_loop(std::optional<Hardware::Control> machine) {
    if (timer_.has_loop()) {
        give_back();
    }
    if (machine) {
        timer_.drop_loop();  // it uses the old machine
        hardware_->take(*std::move(machine), configuration_.observe);
        show_machine();
    }
    const MonoTime now = monotonic_now();
    presses_.forget(runs_.session() != nullptr ? now : MonoTime());
    const LoopSettings settings = loop_settings();
    hardware_->prefer(epp(), runs_.session() != nullptr);
    ProfileStore& profiles = runs_.session() != nullptr ? runs_.session()->profiles(*store_) : *store_;
    timer_.set_loop({hardware_->utilisation(), hardware_->frequency(), presses_, attention_, profiles, recorder_},
                    settings, now);
    shown_.domains = settings.domains;
    shown_.targets.clear();
    shown_.profile.reset();
    shown_.descent = {};
    shown_.sample.clear();
}

// Drops waiting presses: presses from before the change teach nothing.
void Daemon::profiles_changed() {
    presses_.forget(MonoTime());
    timer_.profiles_changed();
    shown_.profile.reset();
    shown_.descent = {};
}

// The preference to set: in a run, the one of its plan.
std::string Daemon::epp() const {
    if (const RunSession* const run = runs_.session()) {
        return run->terms().plan.epp;
    }
    return power_.source() == PowerSource::Battery ? configuration_.battery_epp : configuration_.mains_epp;
}

LoopSettings Daemon::loop_settings() const {
    if (const RunSession* const run = runs_.session()) {
        return run->settings();
    }
    Settings algorithm = configuration_.algorithm;
    algorithm.floor = algorithm.descent ? hardware_->floor(configuration_.floor_percent) : Khz{0};
    return {.algorithm = algorithm,
            .feedback = configuration_.immediate ? Feedback::Immediate : Feedback::NextSample,
            .period = configuration_.period,
            .domains = domains_of(hardware_->frequency().policies(), configuration_.together)};
}

void Daemon::give_back() {
    if (const Status released = hardware_->release(); !released) {
        recorder_.failed(released.error());
    }
}

}  // namespace happe
