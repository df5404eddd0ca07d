// SPDX-License-Identifier: GPL-2.0-or-later
// The kernel's cpufreq in memory, with its semantics: drivers/cpufreq/{cpufreq,cpufreq_userspace,cpufreq_governor}.c. A
// test sets and reads its state directly, as other programs and the firmware do.
#pragma once

#include "governor/cpufreq/cpufreq.h"
#include "governor/cpufreq/cpufreq_control.h"
#include "governor/system/temporary_directory_fixture.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <algorithm>
#include <set>
#include <utility>

namespace happe::fake {

class Kernel : public Cpufreq {
public:
    struct Policy {
        CpufreqPolicy is;
        std::string governor;
        Khz user_min;                    // the last write to scaling_min_freq
        Khz user_max;                    // the last write to scaling_max_freq: at first kNoLimit
        Khz kernel_max;                  // the limit by firmware or temperature
        Khz setspeed;                    // the last request to the governor userspace
        Khz runs_at;                     // under other governors
        std::optional<Khz> shown_max{};  // set while the last write to scaling_max_freq is not in force yet
        std::string epp{};               // empty: the driver has none
        std::optional<Khz> average{};    // measured by the hardware, if the kernel reports it
        Khz accepts = kNoLimit;          // no greater number for scaling_max_freq
        bool on_line = true;
        int writes = 0;  // the number of writes by any program to any file
    };

    std::map<PolicyId, Policy> machine;
    std::map<std::string, Tunables> defaults;  // the default tunables of governors that have some
    std::map<std::string, Tunables> shared;    // the tunables of governors in use
    std::set<std::string> modules;             // governors that the kernel loads when a program names them

    // "FILE" or "policyN/FILE": refused writes, with the reason.
    std::map<std::string, std::string> refused;

    // Core 2 Duo T7700 and acpi-cpufreq, as in the paper.
    Policy& add_t61(std::uint16_t id, std::vector<unsigned> cpus) {
        const std::vector<Khz> table{{800'000}, {1'200'000}, {1'600'000}, {2'200'000}, {2'201'000}};
        return add({.id = {id},
                    .cpus = std::move(cpus),
                    .driver = "acpi-cpufreq",
                    .governors = {"ondemand", "userspace", "performance"},
                    .frequencies = table,
                    .lowest = table.front(),
                    .highest = table.back()},
                   "ondemand");
    }
    // intel_pstate in active mode.
    Policy& add_pstate(std::uint16_t id, std::vector<unsigned> cpus) {
        Policy& policy = add({.id = {id},
                              .cpus = std::move(cpus),
                              .driver = "intel_pstate",
                              .governors = {"performance", "powersave"},
                              .epps = {"default", "performance", "balance_performance", "balance_power", "power"},
                              .lowest = {400'000},
                              .highest = {4'200'000}},
                             "powersave");
        policy.epp = "balance_performance";
        return policy;
    }
    Policy& add(CpufreqPolicy is, const std::string& governor) {
        Policy& policy = machine[is.id];
        policy = {.is = is,
                  .governor = governor,
                  .user_min = {},
                  .user_max = kNoLimit,
                  .kernel_max = kNoLimit,
                  .setspeed = is.lowest,
                  .runs_at = is.lowest};
        start(governor);
        return policy;
    }

    void off_line(std::uint16_t id) { machine.at({id}).on_line = false; }

    // The governor is the same but its target has changed: the driver starts again.
    void on_line(std::uint16_t id) {
        Policy& policy = machine.at({id});
        policy.on_line = true;
        policy.setspeed = policy.is.highest;
    }

    [[nodiscard]] Khz min(const Policy& policy) const {
        return std::min(std::max(policy.user_min, policy.is.lowest), max(policy));
    }
    [[nodiscard]] Khz max(const Policy& policy) const {
        return policy.shown_max.value_or(
            rounded(policy, std::min({policy.user_max, policy.kernel_max, policy.is.highest})));
    }
    // Rounds down to an entry of the table.
    static Khz rounded(const Policy& policy, Khz maximum) {
        const auto& table = policy.is.frequencies;
        const auto above = std::ranges::upper_bound(table, maximum);
        return above == table.begin() ? maximum : *std::prev(above);
    }

    // The lowest frequency within the limits at or above the request; for a request above the limits, the highest one
    // within.
    [[nodiscard]] Khz resolved(const Policy& policy, Khz asked) const {
        const Khz within = std::clamp(asked, min(policy), max(policy));
        const auto& table = policy.is.frequencies;
        const auto at = std::ranges::find_if(table, [&](Khz khz) { return khz >= within && khz <= max(policy); });
        const auto below = std::ranges::find_if(table.rbegin(), table.rend(), [&](Khz k) { return k <= max(policy); });
        return at != table.end() ? *at : below != table.rend() ? *below : within;
    }

    [[nodiscard]] Result<std::vector<CpufreqPolicy>> policies() const override {
        std::vector<CpufreqPolicy> result;
        for (const auto& [id, policy] : machine) {
            if (policy.on_line) {
                result.push_back(policy.is);
            }
        }
        return result;
    }

    [[nodiscard]] std::vector<Khz> table(PolicyId id) const override {
        const Policy* const policy = present(id);
        return policy == nullptr ? std::vector<Khz>() : policy->is.frequencies;
    }

    [[nodiscard]] Result<std::optional<CpufreqSettings>> settings(PolicyId id) const override {
        const Policy* const policy = present(id);
        if (policy == nullptr) {
            return std::nullopt;
        }
        return std::optional(CpufreqSettings{.governor = policy->governor,
                                             .min = min(*policy),
                                             .max = max(*policy),
                                             .speed = *frequency(id, Frequency::Speed)});
    }

    [[nodiscard]] Result<std::optional<CpufreqPolicy>> policy(PolicyId id) const override {
        const Policy* const policy = present(id);
        return policy == nullptr ? std::nullopt : std::optional(policy->is);
    }

    [[nodiscard]] Result<std::optional<std::string>> outline(PolicyId id) const override {
        return policy(id).map([](const std::optional<CpufreqPolicy>& is) -> std::optional<std::string> {
            if (!is) {
                return std::nullopt;
            }
            std::string text = fmt::format("{} {} {}", is->driver, is->lowest.value, is->highest.value);
            for (const Khz khz : is->frequencies) {
                text += fmt::format(" {}", khz.value);
            }
            return text;
        });
    }

    void wait_for_maximum() override {
        for (auto& [id, policy] : machine) {
            policy.shown_max.reset();
        }
    }

    [[nodiscard]] Result<std::optional<Khz>> frequency(PolicyId id, Frequency which) const override {
        const Policy* const policy = present(id);
        if (policy == nullptr) {
            return std::nullopt;
        }
        const bool userspace = policy->governor == "userspace";
        const Khz speed = userspace ? resolved(*policy, policy->setspeed) : policy->runs_at;
        switch (which) {
            case Frequency::Current:
                return speed;
            case Frequency::Average:
                return policy->average;
            case Frequency::Speed:
                return userspace ? std::optional(speed) : std::nullopt;
            case Frequency::Min:
                return min(*policy);
            case Frequency::Max:
                return max(*policy);
        }
        return std::nullopt;
    }

    Status set_frequency(PolicyId id, Frequency which, Khz khz) override {
        const bool speed = which == Frequency::Speed;
        return write(id, speed ? "scaling_setspeed" : "scaling_max_freq").and_then([&]() -> Status {
            Policy& policy = machine.at(id);
            if (speed && policy.governor != "userspace") {
                return failure(fmt::format("policy{}/scaling_setspeed: Invalid argument", id.value));
            }
            if (!speed && khz > policy.accepts) {
                return failure(fmt::format("policy{}/scaling_max_freq: Invalid argument", id.value));
            }
            if (!speed) {
                policy.shown_max = max(policy);
            }
            (speed ? policy.setspeed : policy.user_max) = khz;
            return {};
        });
    }

    Status set_governor(PolicyId id, const std::string& governor) override {
        return write(id, "scaling_governor").and_then([&]() -> Status {
            Policy& policy = machine.at(id);
            if (std::ranges::find(policy.is.governors, governor) == policy.is.governors.end()) {
                if (!modules.contains(governor)) {
                    return failure(fmt::format("policy{}/scaling_governor: Invalid argument", id.value));
                }
                policy.is.governors.push_back(governor);
            }
            if (policy.governor != governor) {
                policy.setspeed = resolved(policy, policy.runs_at);
                const std::string before = std::exchange(policy.governor, governor);
                start(governor);
                stop(before);
            }
            return {};
        });
    }

    [[nodiscard]] Result<std::optional<std::string>> epp(PolicyId id) const override {
        const Policy* const policy = present(id);
        return policy == nullptr || policy->epp.empty() ? std::nullopt : std::optional(policy->epp);
    }

    // intel_pstate.c, store_energy_performance_preference()
    Status set_epp(PolicyId id, const std::string& epp) override {
        return write(id, "energy_performance_preference").and_then([&]() -> Status {
            Policy& policy = machine.at(id);
            if (policy.governor == "performance" && epp != "performance") {
                return failure(
                    fmt::format("policy{}/energy_performance_preference: Device or resource busy", id.value));
            }
            policy.epp = epp;
            return {};
        });
    }

    [[nodiscard]] Result<Tunables> tunables(PolicyId /*id*/, const std::string& governor) const override {
        const auto found = shared.find(governor);
        return found == shared.end() ? Tunables() : found->second;
    }

    Status set_tunable(PolicyId id, const std::string& governor, const std::string& name,
                       const std::string& value) override {
        return write(id, name).and_then([&]() -> Status {
            const auto found = shared.find(governor);
            if (found == shared.end() || !found->second.contains(name)) {
                return failure(fmt::format("{}/{}: No such file or directory", governor, name));
            }
            found->second[name] = value;
            return {};
        });
    }

private:
    [[nodiscard]] const Policy* present(PolicyId id) const {
        const auto found = machine.find(id);
        return found == machine.end() || !found->second.on_line ? nullptr : &found->second;
    }

    Status write(PolicyId id, const std::string& file) {
        const std::string path = fmt::format("policy{}/{}", id.value, file);
        if (present(id) == nullptr) {
            return failure(path + ": Device or resource busy");
        }
        for (const std::string& key : {path, file}) {
            if (const auto found = refused.find(key); found != refused.end()) {
                return failure(path + ": " + found->second);
            }
        }
        ++machine.at(id).writes;
        return {};
    }

    // A governor's tunables exist as long as a policy uses it, and start with its defaults.
    void start(const std::string& governor) {
        if (const auto found = defaults.find(governor); found != defaults.end()) {
            shared.insert(*found);
        }
    }
    void stop(const std::string& governor) {
        if (std::ranges::none_of(machine, [&](const auto& entry) { return entry.second.governor == governor; })) {
            shared.erase(governor);
        }
    }
};

}  // namespace happe::fake

namespace happe {

// A CpufreqControl for tests, on a kernel in memory: a T61 with two policies, or a CPU whose driver has its own
// governors.

inline constexpr Khz kLowest{800'000};
inline constexpr Khz kMiddle{1'600'000};
inline constexpr Khz kHigh{2'200'000};
inline constexpr Khz kTop{2'201'000};

class ControlTest : public testing::Test {
protected:
    ControlTest() {
        kernel.defaults = {{"ondemand", {{"sampling_rate", "10000"}, {"up_threshold", "95"}}}};
        kernel.modules = {"conservative"};
    }

    void open() {
        auto opened = CpufreqControl::open(kernel, {.found = file, .speeds = {}});
        ASSERT_TRUE(opened) << opened.error().message;
        control = std::move(*opened);
    }
    void given_a_t61() {
        kernel.add_t61(0, {0});
        kernel.add_t61(1, {1});
        kernel.shared["ondemand"]["up_threshold"] = "80";  // set by some user
        open();
    }
    void given_a_pstate() {
        kernel.add_pstate(0, {0});
        open();
    }

    fake::Kernel::Policy& policy(std::uint16_t id) { return kernel.machine.at({id}); }
    [[nodiscard]] Khz runs_at(std::uint16_t id) const {
        return kernel.frequency({id}, Cpufreq::Frequency::Current)->value_or(Khz{});
    }
    // The speeds below the caps after a period in which each policy's CPUs had these utilisations.
    [[nodiscard]] std::vector<std::optional<Khz>> speeds(const std::vector<Ppm>& cpus) {
        std::vector<PolicySample> samples;
        for (std::size_t i = 0; i < cpus.size(); ++i) {
            const PolicyId id = control->policies()[i].id;
            samples.push_back(
                {.id = id, .current = control->current(id), .ran = {}, .cpus = std::span(cpus).subspan(i, 1)});
        }
        control->measure_speeds(samples);
        std::vector<std::optional<Khz>> ran;
        std::ranges::transform(samples, std::back_inserter(ran), &PolicySample::ran);
        return ran;
    }
    [[nodiscard]] std::optional<Khz> speed() { return speeds({Ppm{500'000}}).front(); }
    [[nodiscard]] bool is_file_there() const { return std::filesystem::exists(file); }

    static void good(const Status& status) { EXPECT_TRUE(status) << status.error().message; }
    static std::string error_of(const Status& status) { return status ? "no error" : status.error().message; }

    TemporaryDirectory directory;
    std::filesystem::path file = directory.path() / "found.json";
    fake::Kernel kernel;
    std::unique_ptr<CpufreqControl> control;
};

}  // namespace happe
