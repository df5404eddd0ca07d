// SPDX-License-Identifier: GPL-2.0-or-later
// How the daemon is put together.
#include "governor/happed/daemon.h"

#include "governor/happed/configuration_file.h"
#include "governor/system/monotonic_clock.h"

#include <systemd/sd-daemon.h>
#include <unistd.h>
#include <csignal>
#include <utility>

namespace happe {
namespace {

WallTime wall_now() {
    return std::chrono::floor<Micros>(std::chrono::system_clock::now());
}

}  // namespace

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
      device_key_(files_.device_key),
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
    profile_desk_ = std::make_unique<ProfileDesk>(*store_, shown_, [this] {
        if (!run_) {  // a run's loop knows its subject's alone
            new_loop(loop_settings());
        }
    });
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
    auto control = open_control(configuration_);
    if (!control) {
        return failure(control.error().message +
                       "; in a virtual machine or container set mode = \"observe\" in happe.toml");
    }
    take_machine(*std::move(control));
    return {};
}

// Null where there is no cpufreq and the configuration needs none.
Result<std::unique_ptr<CpufreqControl>> Daemon::open_control(const Configuration& configuration) {
    auto control = CpufreqControl::open(cpufreq_, {.found = files_.found, .speeds = configuration.calibration});
    return control || !configuration.observe ? std::move(control) : nullptr;
}

// In place of the machine before, which has been given back. The next is a new loop.
void Daemon::take_machine(std::unique_ptr<CpufreqControl> control) {
    loop_.reset();
    borrowed_.reset();
    control_.reset();
    if (configuration_.observe) {
        const auto policies = control ? control->policies() : std::span<const Policy>();
        borrowed_ = std::make_unique<BorrowedMachine>(
            proc_stat_, control ? std::vector<Policy>(policies.begin(), policies.end())
                                : BorrowedMachine::t61(static_cast<std::size_t>(sysconf(_SC_NPROCESSORS_CONF))));
        machine_ = {borrowed_.get(), borrowed_.get()};
        shown_.backend = "observe";
    } else {
        control_ = std::move(control);
        machine_ = {&proc_stat_, control_.get()};
        shown_.backend = control_->backend() == Backend::Cap ? "cap" : "setspeed";
    }
    const auto policies = machine_.frequency->policies();
    shown_.policies.assign(policies.begin(), policies.end());
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

}  // namespace happe
