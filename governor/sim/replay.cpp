// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/sim/replay.h"

#include "governor/core/loop.h"
#include "governor/core/memory_profiles.h"
#include "governor/documents/trace_reader.h"
#include "governor/documents/trace_writer.h"

#include <algorithm>

namespace happe {
namespace {

// Every port of the loop except the store, for one observation at a time. Numbers CPUs in the order of the line.
class TracedMachine : public UtilisationSource, public FrequencyControl, public KeySource, public FocusSource {
public:
    explicit TracedMachine(const std::vector<PolicyLadder>& ladders) {
        for (const auto& [id, ladder] : ladders) {
            policies_.push_back({.id = id, .cpus = {}, .ladder = ladder});
        }
    }

    void show(TraceObservation seen) {
        seen_ = std::move(seen);
        cpus_.clear();
        for (Policy& policy : policies_) {
            const TracedPolicy* const listed = this->listed(policy.id);
            policy.cpus.resize(listed == nullptr ? 0 : listed->cpus.size());
            for (std::size_t cpu = 0; cpu < policy.cpus.size(); ++cpu) {
                policy.cpus[cpu] = static_cast<unsigned>(cpus_.size());
                cpus_.emplace_back(listed->cpus[cpu]);
            }
        }
    }

    Result<std::span<const std::optional<Ppm>>> sample() override { return std::span<const std::optional<Ppm>>(cpus_); }
    [[nodiscard]] std::span<const Policy> policies() const override { return policies_; }
    [[nodiscard]] std::optional<Khz> current(PolicyId policy) const override { return listed(policy)->current; }
    void measure_speeds(std::span<PolicySample> domain) override {
        for (PolicySample& sample : domain) {
            sample.ran = listed(sample.id)->ran;
        }
    }
    [[nodiscard]] std::optional<Khz> limit(PolicyId policy) const override { return listed(policy)->limit; }
    Status acquire() override { return {}; }
    Status set(PolicyId /*policy*/, Khz /*khz*/) override { return {}; }
    Status release() override { return {}; }
    void take(std::vector<Press>& presses) override { presses = seen_.presses; }
    [[nodiscard]] const Served* served() const override { return seen_.served ? &*seen_.served : nullptr; }
    [[nodiscard]] bool saves_power() const override { return seen_.power_saver; }
    [[nodiscard]] bool present() const override { return seen_.present; }
    [[nodiscard]] Micros idle() const override { return seen_.idle; }
    [[nodiscard]] Ppm front(Micros /*lasted*/) const override { return seen_.front; }

private:
    [[nodiscard]] const TracedPolicy* listed(PolicyId policy) const {
        const auto found = std::ranges::lower_bound(seen_.policies, policy, {}, &TracedPolicy::id);
        return found == seen_.policies.end() || found->id != policy ? nullptr : &*found;
    }

    std::vector<Policy> policies_;
    std::vector<std::optional<Ppm>> cpus_;
    TraceObservation seen_;
};

class DecisionPrinter : public TurnObserver {
public:
    explicit DecisionPrinter(std::ostream& out) : out_(out) {}
    void turned(const Turn& turn) override { out_ << decision_line(turn); }
    void failed(const Error& /*error*/) override {}  // no port above fails

private:
    std::ostream& out_;
};

}  // namespace

Status replay(std::istream& trace, const std::string& name, std::ostream& decisions) {
    TraceReader reader(trace, name);
    const auto header = reader.header();
    if (!header) {
        return tl::unexpected<Error>(header.error());
    }
    TracedMachine machine(header->ladders);
    MemoryProfiles profiles(header->profiles);
    profiles.waits.insert(header->patience.begin(), header->patience.end());
    DecisionPrinter printer(decisions);
    Loop loop({machine, machine, machine, machine, profiles, printer},
              {.algorithm = header->settings,
               .feedback = header->immediate ? Feedback::Immediate : Feedback::NextSample,
               .period = header->period,
               .sham = header->sham,
               .domains = header->domains},
              MonoTime());
    for (auto seen = reader.next();; seen = reader.next()) {
        if (!seen) {
            return tl::unexpected<Error>(seen.error());
        }
        if (!*seen) {
            return {};
        }
        const MonoTime at = (*seen)->at;
        machine.show(*std::move(*seen));
        loop.turn(at);
    }
}

}  // namespace happe
