// SPDX-License-Identifier: GPL-2.0-or-later
// happed as its client sees it: org.happe.Governor1, docs/dbus.md. An error says what to do next.
#pragma once

#include "governor/happectl/bus.h"
#include "governor/happectl/outcome.h"
#include "governor/system/device_key.h"
#include "governor/system/file_descriptor.h"

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace happe::ctl {

struct PolicyLadder {
    std::uint16_t policy = 0;
    std::vector<std::uint32_t> cpus;
    std::vector<std::uint32_t> khz;  // ascending
};

// What a policy did in the last period.
struct PolicyActivity {
    std::uint16_t policy = 0;
    std::uint32_t khz = 0;
    std::uint32_t util_ppm = 0;
    std::uint8_t level = 0;
};

// The daemon's properties.
struct DaemonState {
    std::string version;
    std::string backend;
    std::string state;
    std::string reason;
    std::string run;
    std::uint32_t keyboards = 0;
    std::vector<PolicyLadder> ladders;
    std::vector<std::tuple<std::string, std::string>> holds;  // application, reason
    std::map<std::string, nlohmann::json> settings;
    // Empty if nobody is served, or if they are not for this caller.
    std::string user;
    std::string application;
    std::vector<std::uint32_t> profile;
    std::map<std::uint16_t, std::uint32_t> targets;  // kHz by policy
    std::vector<PolicyActivity> activity;

    // Somebody is served, and who is not shown to this caller.
    [[nodiscard]] bool hidden() const {
        return user.empty() && (state == "governing" || state == "observing" || state == "failing" || state == "run");
    }
};

struct NamedProfile {
    std::string application;
    std::vector<std::uint32_t> khz;
};

// What a key press changed.
struct LearnedEvent {
    std::int64_t number = 0;
    std::int64_t micros = 0;  // since 1970
    std::string key;
    std::uint16_t policy = 0;
    std::uint32_t level = 0;
    std::uint32_t from_khz = 0;
    std::uint32_t to_khz = 0;
    std::uint32_t ran_khz = 0;
    std::uint32_t util_ppm = 0;
};

struct RunPlan {
    std::string condition;
    std::string subject;
    std::string application;
    std::optional<std::uint32_t> sampling_rate_us;
    std::optional<std::uint32_t> up_threshold;
    bool blind = false;
    bool indicator = false;
    // In place of all these:
    std::string seal;
    std::string study;
    std::string run;  // the study server's code
};

extern const Address kGovernor;

class Daemon {
public:
    // An error if there is no bus. Whether happed is on it shows with the first call.
    static Outcome<Daemon> connect();

    Outcome<DaemonState> state(std::chrono::microseconds patience = kPrompt);

    Outcome<wire::Nothing> feedback(const std::string& key);
    Outcome<std::uint32_t> hold(const std::string& application, const std::string& reason);

    Outcome<std::vector<NamedProfile>> list_profiles(const std::string& user);
    Outcome<std::vector<std::uint32_t>> get_profile(const std::string& user, const std::string& application);
    Outcome<std::vector<LearnedEvent>> list_events(const std::string& user, const std::string& application,
                                                   std::int64_t after, std::uint32_t most);
    Outcome<wire::Nothing> reset_profile(const std::string& user, const std::string& application);
    Outcome<std::string> export_profiles(const std::string& user);
    Outcome<std::uint32_t> import_profiles(const std::string& user, const std::string& document);

    Outcome<std::string> start_run(const RunPlan& plan);
    Outcome<FileDescriptor> stop_run(const std::string& run);
    Outcome<std::string> run_facts(const std::string& run);
    Outcome<PublicKey> device_key();

    Outcome<std::string> learn_key(std::chrono::milliseconds limit);
    Outcome<wire::Nothing> reload();

    [[nodiscard]] Bus& bus() { return bus_; }

private:
    explicit Daemon(Bus bus) : bus_(std::move(bus)) {}

    template <typename T, typename... Arguments>
    Outcome<T> call(std::chrono::microseconds patience, const char* member, const char* types, Arguments... arguments);

    Bus bus_;
};

// What an error of happed means for the person at the shell.
Trouble explain(const BusError& error);

}  // namespace happe::ctl
