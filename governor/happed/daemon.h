// SPDX-License-Identifier: GPL-2.0-or-later
// happed: the loop on the kernel. docs/daemon.md
#pragma once

#include "governor/bus/bus.h"
#include "governor/bus/governor_bus.h"
#include "governor/bus/logind.h"
#include "governor/core/loop.h"
#include "governor/cpufreq/cpufreq_control.h"
#include "governor/cpufreq/cpupower.h"
#include "governor/documents/configuration.h"
#include "governor/happed/attention.h"
#include "governor/happed/attention_desk.h"
#include "governor/happed/chronicle.h"
#include "governor/happed/journal.h"
#include "governor/happed/profile_desk.h"
#include "governor/happed/run_facts.h"
#include "governor/happed/run_traces.h"
#include "governor/keys/evdev_keys.h"
#include "governor/store/sqlite_profile_store.h"
#include "governor/system/alarm.h"
#include "governor/system/borrowed_machine.h"
#include "governor/system/device_key.h"
#include "governor/system/event_loop.h"
#include "governor/system/proc_stat.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace happe {

// Where the daemon's files are. Command-line options, since a daemon of root's reads no environment.
struct DaemonFiles {
    std::filesystem::path configuration = "/etc/happe/happe.toml";  // need not exist
    std::filesystem::path database = "/var/lib/happe/profiles.db";
    std::filesystem::path runs = "/var/lib/happe/runs";
    std::filesystem::path device_key = "/var/lib/happe/device.key";
    std::filesystem::path found = "/run/happe/found.json";
    std::filesystem::path cpus = "/sys/devices/system/cpu";
    EvdevKeys::Paths keys;
    std::string seat = "seat0";
};

class Daemon final : public SettingsService, public RunService {
public:
    // What the event loop returns: at a signal, and when the bus is gone.
    enum Exit : int { kStop = 0, kBusLost = 1 };

    // Takes the bus's name; the machine only when somebody is there. `loop` and `bus`, which it is attached to, outlive
    // it.
    static Result<std::unique_ptr<Daemon>> start(sd_event* loop, sd_bus* bus, DaemonFiles files);
    Daemon(const Daemon&) = delete;
    Daemon& operator=(const Daemon&) = delete;
    ~Daemon() override;

    // Gives the machine back and stores what waits.
    [[nodiscard]] Status stop();

    Answer<void> reload() override;
    void learn_key(const Caller& caller, Micros timeout, std::function<void(Answer<std::string>)> learned) override;
    Answer<std::string> start(const Caller& caller, const RunRequest& request) override;
    [[nodiscard]] bool owns(const Caller& caller, const std::string& run) const override;
    Answer<FileDescriptor> stop(const Caller& caller, const std::string& run) override;
    Answer<std::string> facts(const Caller& caller, const std::string& run) override;
    Answer<PublicKey> device_key() override;

private:
    // The two keys, and what is said on the bus in their stead.
    struct Presses final : KeySource {
        std::unique_ptr<EvdevKeys> keys;
        std::vector<Press> said;
        MonoTime since;  // what was pressed before is dropped
        void say(const Press& press);
        void take(std::vector<Press>& presses) override;
    };
    // Who sees the private properties and the subject's profiles while it runs: who may anyway, its owner, nobody.
    enum class Sight : std::uint8_t { Open, Blind, Sealed };
    struct Run {
        std::string code;
        Caller owner;
        RunCondition condition;
        RunPlan plan;
        Sight sight = Sight::Blind;
        RunFacts facts;
        [[nodiscard]] bool sham() const { return plan.sham && condition.is_happe(); }
        [[nodiscard]] bool blind() const { return sight != Sight::Open; }
        [[nodiscard]] KeptRun kept() const { return {.uid = owner.uid, .blind = blind(), .facts = {}}; }
    };
    struct Machine {
        UtilisationSource* utilisation = nullptr;
        FrequencyControl* frequency = nullptr;
    };

    Daemon(sd_event* loop, sd_bus* bus, DaemonFiles files, Configuration configuration);
    [[nodiscard]] Status open();
    [[nodiscard]] Status open_machine();
    [[nodiscard]] Status open_keys();
    [[nodiscard]] Result<std::unique_ptr<CpufreqControl>> open_control(const Configuration& configuration);
    void take_machine(std::unique_ptr<CpufreqControl> control);
    void follow_hardware();
    void follow_configuration();
    void show_settings();

    void new_loop(const LoopSettings& settings);
    [[nodiscard]] LoopSettings loop_settings() const;
    [[nodiscard]] Result<TraceHeader> trace_header(const LoopSettings& settings, const std::optional<Served>& whom);

    void attend();
    void begin_turns();
    void end_turns();
    void turn(MonoTime now);
    void tend(MonoTime now);
    void arm();
    void came_due();
    void pressed();
    void give_back();
    void session_changed();
    void caller_left(const std::string& bus_name);
    void tell_watchdog(MonoTime now);
    void show();
    void show_trouble();
    [[nodiscard]] std::string trouble() const;

    [[nodiscard]] Answer<RunPlan> unseal(const SealedRun& sealed) const;
    [[nodiscard]] Answer<std::string> start(const Caller& caller, const RunPlan& plan, Sight sight);
    [[nodiscard]] Answer<std::string> begin_run(Run run);
    [[nodiscard]] Result<TraceHeader> prepare(Run& run);
    void take_over();
    void follow_run();
    void look_at_run();
    [[nodiscard]] Answer<KeptRun> kept_for(const Caller& caller, const std::string& run) const;
    [[nodiscard]] Status lend_machine();
    [[nodiscard]] Status end_run();

    static int on_hangup(sd_event_source* source, const signalfd_siginfo* info, void* data);

    sd_event* event_;
    DaemonFiles files_;
    Configuration configuration_;
    KeyBindings bindings_;
    Journal journal_;
    Shown shown_;

    Cpupower cpufreq_;
    ProcStat proc_stat_;
    std::unique_ptr<CpufreqControl> control_;    // null while observing
    std::unique_ptr<BorrowedMachine> borrowed_;  // null while governing
    Machine machine_;

    std::unique_ptr<SqliteProfileStore> store_;
    Attention attention_;
    Presses presses_;
    Chronicle chronicle_;
    AttentionDesk attention_desk_;
    std::unique_ptr<ProfileDesk> profile_desk_;
    RunTraces traces_;
    DeviceKey device_key_;
    std::optional<Run> run_;
    bool lent_ = false;     // to the run's kernel condition
    std::string not_lent_;  // why it last could not be
    std::unique_ptr<Loop> loop_;

    std::unique_ptr<GovernorBus> bus_;
    Logind logind_;
    std::unique_ptr<KeyHelperCall> learning_;
    std::string learner_;           // bus name of who waits for learning_
    std::unique_ptr<Alarm> alarm_;  // for the next turn
    EventSource hangup_;
    bool turning_ = false;
    std::uint64_t watchdog_usec_ = 0;
    MonoTime watchdog_told_;
};

}  // namespace happe
