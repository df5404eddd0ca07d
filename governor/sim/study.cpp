// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/sim/study.h"

#include "governor/core/loop.h"
#include "governor/core/memory_profiles.h"
#include "governor/documents/run_plan.h"
#include "governor/documents/trace_writer.h"
#include "governor/sim/machine.h"

#include <fmt/format.h>
#include <algorithm>
#include <memory>
#include <stdexcept>

namespace happe {
namespace {

constexpr Micros kStep = kStudyStep;
constexpr double kStepSeconds = std::chrono::duration<double>(kStep).count();

using Named = std::pair<std::string_view, Rule>;
constexpr std::array kNames{
    Named{condition::kOndemand, Rule::Ondemand},
    Named{"ondemand-now", Rule::OndemandNow},
    Named{"conservative", Rule::Conservative},
    Named{"performance", Rule::Performance},
    Named{"powersave", Rule::Powersave},
    Named{"UDFS", Rule::Udfs},
    Named{"oracle", Rule::Oracle},
    Named{condition::kTraining, Rule::THappe},
    Named{condition::kOperating, Rule::OHappe},
    Named{condition::kIndicated, Rule::BHappe},
};

// The purposes of a run's random streams.
enum Stream : std::uint8_t { kTaste = 2, kOrder, kWorkload, kPlayer, kWatts };

// Serves the participant under HAPPE's conditions, and nobody under others, which use the kernel's governor.
class StudyFocus : public FocusSource {
public:
    StudyFocus(const Served& whom, bool happe) : whom_(happe ? &whom : nullptr) {}
    [[nodiscard]] const Served* served() const override { return whom_; }

private:
    const Served* whom_;
};

class StudyObserver : public TurnObserver {
public:
    // `udfs`: acts on the keys in HAPPE's place; null if nobody does.
    StudyObserver(RunResult& result, const StudyHooks& hooks, sim::Udfs* udfs)
        : result_(result), hooks_(hooks), udfs_(udfs) {}
    void turned(const Turn& turn) override {
        if (turn.uafp != nullptr) {
            result_.uafp = *turn.uafp;
        }
        if (turn.counted) {
            ++(*turn.counted == Key::Performance ? result_.performance_presses : result_.power_presses);
            if (udfs_ != nullptr) {
                udfs_->pressed(*turn.counted);
            }
        }
        if (hooks_.trace) {
            hooks_.trace(result_, observation_line(turn));
        }
        if (hooks_.turned) {
            hooks_.turned(result_, turn);
        }
    }
    void failed(const Error& error) override { throw std::logic_error("simulation: " + error.message); }

private:
    RunResult& result_;
    const StudyHooks& hooks_;
    sim::Udfs* udfs_;
};

std::unique_ptr<sim::KernelGovernor> kernel_governor(const Condition& condition, const sim::Taste& taste) {
    const Ladder& ladder = t61_ladder();
    switch (condition.rule) {
        case Rule::OndemandNow:
            return std::make_unique<sim::Ondemand>(sim::Ondemand::Rule::Linux3_9);
        case Rule::Conservative:
            return std::make_unique<sim::Conservative>();
        case Rule::Performance:
            return std::make_unique<sim::Fixed>(ladder.top());
        case Rule::Powersave:
        case Rule::THappe:
        case Rule::OHappe:
        case Rule::BHappe:  // the governor before the loop's first turn: HAPPE begins at the lowest frequency
            return std::make_unique<sim::Fixed>(ladder.lowest());
        case Rule::FixedLevel:
            return std::make_unique<sim::Fixed>(ladder[condition.level - 1]);
        case Rule::Udfs:
            return std::make_unique<sim::Udfs>();
        case Rule::Oracle:
            return std::make_unique<sim::Oracle>(taste);
        case Rule::Ondemand:
            return std::make_unique<sim::Ondemand>();
    }
    throw std::logic_error("no such rule");
}

// A run's draws depend only on its labels, not on other runs.
sim::Random stream(const RunResult& run, const sim::ApplicationParameters& application, Stream purpose) {
    const std::string condition = run.condition.name() + (run.again == 0 ? "" : fmt::format("#{}", run.again + 1));
    return sim::Random({run.seed, purpose, run.participant, sim::label(application.name), sim::label(condition)});
}

// A stream for values that are the same in all of a participant's runs of an application.
sim::Random drawn(std::uint64_t seed, Stream purpose, std::size_t participant,
                  const sim::ApplicationParameters& application) {
    return sim::Random({seed, purpose, participant, sim::label(application.name)});
}

// One participant plays one application once.
class Session {
public:
    Session(const StudyPlan& plan, const Play& what, RunResult& result, MemoryProfiles& profiles,
            const StudyHooks& hooks)
        : application_(plan.participants.applications[result.application]),
          result_(result),
          hooks_(hooks),
          has_keys_(result.condition.is_happe() || result.condition.rule == Rule::Udfs),
          whom_{what.user, application_.name},
          now_(what.began),
          governor_(kernel_governor(result.condition, result.taste)),
          oracle_(dynamic_cast<sim::Oracle*>(governor_.get())),
          udfs_(dynamic_cast<sim::Udfs*>(governor_.get())),
          machine_(sim::t61_hardware(), {governor_.get()},
                   application_.other_watts +
                       application_.other_watts_spread * stream(result, application_, kWatts).normal()),
          player_(result.person, result.taste, application_, plan.participants.people,
                  {has_keys_, result.condition.rule == Rule::BHappe}, stream(result, application_, kPlayer)),
          workload_(application_.workload, result.taste.style, stream(result, application_, kWorkload)),
          focus_(whom_, result.condition.is_happe()),
          observer_(result, hooks, udfs_),
          settings_{.feedback = udfs_ != nullptr ? Feedback::Immediate : Feedback::NextSample},
          loop_({machine_, machine_, player_, focus_, fresh(profiles), observer_}, settings_, now_) {
        if (hooks.trace) {
            hooks.trace(result, header_line(trace_header(profiles)));
        }
    }

    void play(Micros run_time) {
        for (const MonoTime end = now_ + run_time; now_ < end;) {
            step();
        }
        result_.watts = machine_.mean_watts();
        result_.utilisation = machine_.mean_utilisation();
        result_.rating = player_.rate();
    }

private:
    // T-HAPPE begins with an empty profile; the other conditions begin with the stored one.
    MemoryProfiles& fresh(MemoryProfiles& profiles) const {
        if (result_.condition.rule == Rule::THappe) {
            profiles.profiles.erase(whom_);
        }
        return profiles;
    }

    [[nodiscard]] TraceHeader trace_header(MemoryProfiles& profiles) const {
        TraceHeader header{.settings = {},
                           .immediate = settings_.feedback == Feedback::Immediate,
                           .period = settings_.period,
                           .ladders = {{PolicyId{0}, t61_ladder()}},
                           .profiles = {}};
        if (const auto known = *profiles.find(whom_); known && result_.condition.is_happe()) {
            header.profiles.push_back({whom_, *known});
        }
        return header;
    }

    void step() {
        const sim::Demand demand = workload_.next(kStepSeconds);
        if (oracle_ != nullptr) {
            oracle_->tell(demand.front());
        }
        machine_.run(kStep, demand);
        now_ += kStep;
        count_state();
        if (hooks_.drew) {
            hooks_.drew(machine_.watts());
        }
        if (player_.live(now_, kStepSeconds, machine_.khz(), demand.front())) {
            loop_.pressed(now_);
        }
        if (udfs_ != nullptr) {
            udfs_->pass(kStep);
        }
        if (now_ >= loop_.due()) {
            loop_.turn(now_);
        }
    }

    void count_state() {
        const Ladder& ladder = machine_.ladder();
        for (std::size_t i = 0; i < ladder.size(); ++i) {
            result_.state_seconds.at(i) += ladder[i] == machine_.khz() ? kStepSeconds : 0.0;
        }
    }

    const sim::ApplicationParameters& application_;
    RunResult& result_;
    const StudyHooks& hooks_;
    bool has_keys_;
    Served whom_;
    MonoTime now_;
    std::unique_ptr<sim::KernelGovernor> governor_;
    sim::Oracle* oracle_;  // governor_ if it is an Oracle; otherwise null
    sim::Udfs* udfs_;
    sim::Machine machine_;
    sim::Player player_;
    sim::Workload workload_;
    StudyFocus focus_;
    StudyObserver observer_;
    LoopSettings settings_;
    Loop loop_;
};

std::vector<Condition> order(const StudyPlan& plan, sim::Random random) {
    std::vector<Condition> conditions = plan.conditions;
    if (plan.shuffled) {
        for (std::size_t left = conditions.size(); left > 1; --left) {
            std::swap(conditions[left - 1], conditions[random.bits() % left]);
        }
    }
    return conditions;
}

}  // namespace

std::string Condition::name() const {
    if (rule == Rule::FixedLevel) {
        return fmt::format("{}{}", condition::kFixed, level);
    }
    return std::string(std::ranges::find(kNames, rule, &Named::second)->first);
}

std::optional<Condition> Condition::named(std::string_view name) {
    for (std::size_t level = 1; level <= t61_ladder().size(); ++level) {
        const Condition fixed{Rule::FixedLevel, level};
        if (fixed.name() == name) {
            return fixed;
        }
    }
    const auto* const found = std::ranges::find(kNames, name, &Named::first);
    return found == kNames.end() ? std::nullopt : std::optional(Condition{found->second, 0});
}

std::vector<std::string> Condition::names() {
    std::vector<std::string> all;
    all.reserve(kNames.size() + t61_ladder().size());
    for (const auto& [name, rule] : kNames) {
        all.emplace_back(name);
    }
    for (std::size_t level = 1; level <= t61_ladder().size(); ++level) {
        all.push_back(Condition{Rule::FixedLevel, level}.name());
    }
    return all;
}

StudyPlan paper_plan() {
    return {.participants = fitted_participants(),
            .conditions = {
                {Rule::Ondemand, 0}, {Rule::THappe, 0}, {Rule::OHappe, 0}, {Rule::BHappe, 0}, {Rule::Oracle, 0}}};
}

StudyPlan a3_plan() {
    StudyPlan plan{.participants = fitted_participants(), .count = 10, .conditions = {}, .shuffled = true};
    for (std::size_t level = 1; level <= t61_ladder().size(); ++level) {
        plan.conditions.push_back({Rule::FixedLevel, level});
    }
    return plan;
}

Cohort::Cohort(const StudyPlan& plan, std::uint64_t seed)
    : plan_(plan), seed_(seed), people_(sim::people(plan.count, plan.participants.people, seed)) {}

RunResult Cohort::play(const Play& what, const StudyHooks& hooks) {
    RunResult run;
    run.seed = seed_;
    run.participant = what.participant;
    run.application = what.application;
    run.condition = what.condition;
    run.again = played_[{what.participant, what.application, what.condition.name()}]++;
    run.person = people_.at(what.participant);
    run.taste = taste(what);
    Session(plan_, what, run, profiles_, hooks).play(plan_.run_time);
    return run;
}

sim::Taste Cohort::taste(const Play& what) const {
    const sim::ApplicationParameters& application = plan_.participants.applications.at(what.application);
    return sim::taste(people_.at(what.participant), application, plan_.participants.people,
                      drawn(seed_, kTaste, what.participant, application));
}

std::vector<RunResult> run_study(const StudyPlan& plan, std::uint64_t seed, const StudyHooks& hooks) {
    Cohort cohort(plan, seed);
    std::vector<RunResult> runs;
    for (std::size_t participant = 0; participant < plan.count; ++participant) {
        for (std::size_t index = 0; index < plan.participants.applications.size(); ++index) {
            const auto& application = plan.participants.applications[index];
            for (const Condition& condition : order(plan, drawn(seed, kOrder, participant, application))) {
                runs.push_back(cohort.play({.participant = participant,
                                            .application = index,
                                            .condition = condition,
                                            .user = fmt::format("participant-{}", participant + 1),
                                            .began = {}},
                                           hooks));
                if (hooks.run_done) {
                    hooks.run_done();
                }
            }
        }
    }
    return runs;
}

}  // namespace happe
