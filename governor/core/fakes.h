// SPDX-License-Identifier: GPL-2.0-or-later
// A fake for each port except the profile store, whose fake is MemoryProfiles. Tests set and read state; the order of
// calls is free.
#pragma once

#include "governor/core/focus_source.h"
#include "governor/core/frequency_control.h"
#include "governor/core/memory_profiles.h"
#include "governor/core/press_series.h"
#include "governor/core/turn_observer.h"

#include <map>
#include <string>
#include <utility>

namespace happe::fake {

struct Utilisation : UtilisationSource {
    std::vector<std::optional<Ppm>> cpus;
    std::optional<Error> broken;
    int samples = 0;

    Result<std::span<const std::optional<Ppm>>> sample() override {
        ++samples;
        if (broken) {
            return tl::unexpected<Error>(*broken);
        }
        return std::span<const std::optional<Ppm>>(cpus);
    }
};

struct Frequency : FrequencyControl {
    std::vector<Policy> list;
    std::map<PolicyId, Khz> khz;      // empty: the machine shows no frequencies
    std::map<PolicyId, Khz> ran_khz;  // if they are caps
    bool acquired = false;
    int acquisitions = 0;
    std::optional<Error> broken;

    std::span<const Policy> policies() const override { return list; }
    std::optional<Khz> current(PolicyId policy) const override {
        const auto found = khz.find(policy);
        return found == khz.end() ? std::nullopt : std::optional(found->second);
    }
    void measure_speeds(std::span<PolicySample> domain) override {
        for (PolicySample& sample : domain) {
            const auto found = ran_khz.find(sample.id);
            sample.ran = found == ran_khz.end() ? std::nullopt : std::optional(found->second);
        }
    }
    Status acquire() override {
        acquired = true;
        ++acquisitions;
        return answer();
    }
    Status set(PolicyId policy, Khz value) override {
        if (!broken) {
            khz[policy] = value;
        }
        return answer();
    }
    Status release() override {
        acquired = false;
        return answer();
    }

private:
    [[nodiscard]] Status answer() const { return broken ? Status(tl::unexpected<Error>(*broken)) : Status(); }
};

struct Keys : KeySource {
    std::vector<Press> waiting;

    void take(std::vector<Press>& presses) override {
        presses.insert(presses.end(), waiting.begin(), waiting.end());
        waiting.clear();
    }
};

struct Focus : FocusSource {
    std::optional<Served> whom;
    bool saving = false;

    const Served* served() const override { return whom ? &*whom : nullptr; }
    bool saves_power() const override { return saving; }
};

struct Watcher : TurnObserver {
    int turns = 0;
    std::size_t presses = 0;
    std::vector<Key> counted;
    std::vector<std::vector<Ppm>> cpus;  // each policy's, in the last turn
    std::vector<std::string> failures;

    void turned(const Turn& turn) override {
        ++turns;
        presses += turn.presses.size();
        cpus.clear();
        for (const PolicySample& policy : turn.policies) {
            cpus.emplace_back(policy.cpus.begin(), policy.cpus.end());
        }
        if (turn.counted) {
            counted.push_back(*turn.counted);
        }
    }
    void failed(const Error& error) override { failures.push_back(error.message); }
};

}  // namespace happe::fake
