// SPDX-License-Identifier: GPL-2.0-or-later
// happed: the loop on the kernel. docs/daemon.md
#pragma once

#include "governor/bus/bus.h"
#include "governor/bus/logind.h"
#include "governor/bus/power_profiles.h"
#include "governor/documents/configuration.h"
#include "governor/happed/attention.h"
#include "governor/happed/contest_wait.h"
#include "governor/happed/day_tally.h"
#include "governor/happed/front_time.h"
#include "governor/happed/hardware.h"
#include "governor/happed/loop_timer.h"
#include "governor/happed/presses.h"
#include "governor/happed/requests/attention_requests.h"
#include "governor/happed/requests/daemon_object.h"
#include "governor/happed/requests/profile_requests.h"
#include "governor/happed/requests/settings_requests.h"
#include "governor/happed/runs/run_requests.h"
#include "governor/happed/system_log.h"
#include "governor/happed/turn_recorder.h"
#include "governor/store/sqlite_profile_store.h"
#include "governor/system/event_loop.h"
#include "governor/system/monotonic_clock.h"
#include "governor/system/power_supplies.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace happe {

// Where the daemon's files are. Command-line options set them: a system daemon must not take paths from the
// environment.
struct DaemonFiles {
    std::filesystem::path configuration = "/etc/happe/happe.toml";  // need not exist
    std::filesystem::path database = "/var/lib/happe/profiles.db";
    std::filesystem::path runs = "/var/lib/happe/runs";
    std::filesystem::path device_key = "/var/lib/happe/device.key";
    std::filesystem::path found = "/run/happe/found.json";
    std::filesystem::path cpus = "/sys/devices/system/cpu";
    std::filesystem::path stat = "/proc/stat";
    std::filesystem::path power = "/sys/class/power_supply";
    EvdevKeys::Paths keys;
    std::string seat = "seat0";
};

// Creates happed's parts and connects them. logind and callers on the bus report who is at the machine; Attention
// decides whom happed serves; meanwhile the loop turns on the hardware. TurnRecorder records each turn. The classes
// named Requests answer callers on the bus.
class Daemon final {
public:
    // The event loop's exit codes: after a signal, and when the bus is gone.
    enum Exit : int { kStop = 0, kBusLost = 1 };

    // Why happed did not start, and the exit status (sysexits.h) that tells systemd whether another start may succeed.
    struct Failure {
        Error error;
        int exit;
    };

    // Takes the name on the bus now, but controls the machine only when happed serves somebody. `event`, and `bus`
    // attached to it, must outlive the daemon.
    static tl::expected<std::unique_ptr<Daemon>, Failure> start(EventLoop& event, sd_bus* bus,
                                                                const DaemonFiles& files);
    Daemon(const Daemon&) = delete;
    Daemon& operator=(const Daemon&) = delete;
    ~Daemon() = default;

    // Restores the machine and stores pending lessons.
    [[nodiscard]] Status stop();

private:
    // `hardware` has a machine.
    Daemon(EventLoop& event, sd_bus* bus, const DaemonFiles& files, Configuration configuration,
           std::unique_ptr<SqliteProfileStore> store, std::unique_ptr<Hardware> hardware);
    [[nodiscard]] Status listen();

    void attend();
    void begin_turns();
    void before_turn(MonoTime now);
    void after_turn(MonoTime now);
    void look_at_copy(MonoTime now);
    void follow_store();
    void pressed();
    bool said(Key key);
    void session_changed();
    void contest(std::string reason, MonoTime now);
    void end_contest();
    void caller_left(const std::string& bus_name);
    void run_changed();
    void source_changed();
    void power_profile_changed();

    Answer<void> reload();
    void look_at_hardware();
    void follow_hardware();
    void new_loop(std::optional<Hardware::Control> machine = std::nullopt);
    void profiles_changed();
    [[nodiscard]] LoopSettings loop_settings() const;
    [[nodiscard]] std::string epp() const;
    [[nodiscard]] std::string trouble() const;
    void follow_source();
    void follow_power_profiles();
    void give_back();

    void show();
    void show_machine();
    void show_settings();
    void show_run();
    void show_attention();
    void show_hardware();
    void tell_limits(MonoTime now);
    void tell_epp(MonoTime now);

    static int on_hangup(sd_event_source* source, const signalfd_siginfo* info, void* data);

    std::filesystem::path configuration_file_;
    Configuration configuration_;
    SystemLog log_;
    Shown shown_;
    std::unique_ptr<SqliteProfileStore> store_;
    std::unique_ptr<Hardware> hardware_;
    PowerSupplies power_;
    Attention attention_;
    Presses presses_;
    AttentionRequests attention_requests_;
    ProfileRequests profile_requests_;
    RunRequests runs_;
    SettingsRequests settings_requests_;
    DayTally day_;
    TurnRecorder recorder_;
    FrontTime front_time_;
    LoopTimer timer_;
    ContestWait contest_wait_;
    std::vector<PolicyLimits> told_limits_;
    std::string told_epp_;
    std::string told_of_store_;
    MonoTime looked_at_copy_ = monotonic_now();
    DaemonObject bus_;
    Logind logind_;
    PowerProfiles power_profiles_;
    EventSource hangup_;
};

}  // namespace happe
