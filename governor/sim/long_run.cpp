// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/sim/long_run.h"

#include "governor/core/loop.h"
#include "governor/core/memory_profiles.h"
#include "governor/sim/office.h"

#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>

namespace happe {
namespace {

constexpr Micros kHoursStep{40'000};
constexpr double kHoursStepSeconds = std::chrono::duration<double>(kHoursStep).count();
constexpr Micros kSitting = std::chrono::minutes{20};       // with one application
constexpr Micros kFirstContact = std::chrono::minutes{10};  // the first time with an application
constexpr double kNeedDriftSeconds = 2 * 3600.0;            // correlation time
constexpr double kSceneSeconds = 120.0;                     // mean length
constexpr double kDissatisfied = 0.1;                       // a shortfall that counts as dissatisfaction (assumed)
constexpr double kKnownMargin = 1.16;
constexpr Micros kHour = std::chrono::hours{1};

constexpr std::array kContenders{
    Contender::Ondemand,   Contender::OndemandNow, Contender::Schedutil, Contender::Conservative, Contender::FixedCap,
    Contender::LearnedCap, Contender::Udfs,        Contender::Happe,     Contender::SingleSteps,  Contender::Extended,
    Contender::Floor,      Contender::KnownCap,    Contender::Oracle};
constexpr std::array kContenderNames{"ondemand",    "ondemand-now", "schedutil", "conservative", "fixed-cap",
                                     "learned-cap", "UDFS",         "HAPPE",     "single-steps", "extended",
                                     "floor",       "known-cap",    "oracle"};
static_assert(kContenders.size() == kContenderNames.size());

// The purposes of a long run's random streams, which differ from a study's.
enum HoursStream : std::uint8_t {
    kHoursTaste = 20,
    kHoursPerson,
    kHoursSitting,
    kHoursWorkload,
    kHoursPlayer,
    kHoursSlips
};

// Mode `extended` of version 0.2.
constexpr Settings kSingleSteps{.extended = true, .middle_start = true, .hold = true, .descent = true};

// One person's state with an application.
struct Familiar {
    sim::Taste taste;
    double drift = 0.0;  // the need's present deviation, standard normal
    Micros spent{0};
    Khz cap;                            // learned
    std::optional<sim::Player> player;  // remembers the effect of presses
};

// One person's hours.
class Life : FocusSource, KeySource, TurnObserver {
public:
    Life(const LongRunPlan& plan, Contender contender, std::uint64_t seed, std::size_t who, const sim::Person& person)
        : plan_(plan),
          contender_(contender),
          seed_(seed),
          who_(who),
          person_(person),
          random_(stream(kHoursPerson)),
          slips_(stream(kHoursSlips)),
          hardware_(plan.machine.hardware()),
          world_people_(sim::people_of(plan.world, plan.people, speed())),
          machine_(hardware_, governors(), 0.0),
          faster_by_hour_(static_cast<std::size_t>((plan.time + kHour - kHoursStep) / kHour)) {
        const bool never_saves = random_.uniform() < plan.world.never_save;
        for (sim::ApplicationParameters& application : world_people_.applications) {
            application.thrift = never_saves ? 0.0 : application.thrift;
            Familiar familiar{.taste = sim::taste(person, application, world_people_.people,
                                                  stream(kHoursTaste, sim::label(application.name))),
                              .drift = random_.normal(),
                              .cap = machine_.ladder().lowest(),
                              .player = {}};
            familiar.taste.follows_khz = plan.world.need_follows ? application.workload.busy_khz : 0.0;
            familiar.player.emplace(
                person, familiar.taste, application, world_people_.people,
                sim::Player::Run{
                    .has_keys = has_keys(contender_), .has_indicator = false, .top = machine_.ladder().top()},
                stream(kHoursPlayer, sim::label(application.name)));
            familiar_.push_back(familiar);
        }
    }

    Hours live() {
        for (std::uint64_t sitting = 0; now_.time_since_epoch() < plan_.time; ++sitting) {
            sit(sitting);
        }
        const double seconds = std::chrono::duration<double>(now_.time_since_epoch()).count();
        const double hours = seconds / 3600.0;
        const double later_seconds = std::max(seconds - 3600.0, kHoursStepSeconds);
        return {.watts = joules_ / seconds,
                .dissatisfied = 60.0 * dissatisfied_ / seconds,
                .first_dissatisfied = 60.0 * first_dissatisfied_ / first_seconds_,
                .later_dissatisfied = 60.0 * later_dissatisfied_ / later_seconds,
                .severity = 100.0 * shortfall_ / seconds,
                .performance_presses = presses_[0] / hours,
                .power_presses = presses_[1] / hours,
                .faster_by_hour = faster_by_hour_};
    }

private:
    [[nodiscard]] sim::Random stream(HoursStream purpose, std::uint64_t label = 0) const {
        return sim::Random({seed_, purpose, who_, label});
    }

    [[nodiscard]] double speed() const {
        return static_cast<double>(hardware_.policies.front().ladder.top().value) / t61_ladder().top().value;
    }

    [[nodiscard]] bool serves() const {
        return contender_ == Contender::Happe || contender_ == Contender::SingleSteps ||
               contender_ == Contender::Extended;
    }

    // As on a machine whose driver names no efficient frequency (happed's `algorithm.floor_percent`).
    [[nodiscard]] Khz floor() const { return Khz{hardware_.policies.front().ladder.top().value / 4}; }

    [[nodiscard]] Settings settings() const {
        Settings owners = kExtended;
        owners.floor = floor();
        return contender_ == Contender::Extended      ? owners
               : contender_ == Contender::SingleSteps ? kSingleSteps
                                                      : Settings{};
    }

    std::unique_ptr<sim::KernelGovernor> governor() const {
        const Ladder& ladder = hardware_.policies.front().ladder;
        switch (contender_) {
            case Contender::Ondemand:
                return std::make_unique<sim::Ondemand>();
            case Contender::OndemandNow:
                return std::make_unique<sim::Ondemand>(sim::Ondemand::Rule::Linux3_9);
            case Contender::Schedutil:
                return std::make_unique<sim::Schedutil>();
            case Contender::Conservative:
                return std::make_unique<sim::Conservative>();
            case Contender::FixedCap:
                return std::make_unique<sim::Capped>(ladder.at_or_above(Khz{ladder.top().value / 2}, ladder.top()));
            case Contender::LearnedCap:
                return std::make_unique<sim::Capped>(ladder.lowest());
            case Contender::Udfs:
                return std::make_unique<sim::Udfs>();
            case Contender::Happe:
            case Contender::SingleSteps:
            case Contender::Extended:
                return std::make_unique<sim::Fixed>(ladder.lowest());
            case Contender::Floor:
                return std::make_unique<sim::Fixed>(ladder.top());
            case Contender::KnownCap:
                return std::make_unique<sim::KnownCap>(ladder.top());
            case Contender::Oracle:
                return std::make_unique<sim::Oracle>(sim::Taste(), floor());
        }
        throw std::logic_error("no such contender");
    }

    std::vector<sim::KernelGovernor*> governors() {
        std::vector<sim::KernelGovernor*> found;
        for (std::size_t policy = 0; policy < hardware_.policies.size(); ++policy) {
            found.push_back(governors_.emplace_back(governor()).get());
        }
        return found;
    }

    template <typename T, typename Call>
    void each(Call call) {
        for (const auto& governor : governors_) {
            if (auto* const is = dynamic_cast<T*>(governor.get())) {
                call(*is);
            }
        }
    }

    // Spends some minutes with one application.
    void sit(std::uint64_t sitting) {
        sim::Random chance = stream(kHoursSitting, sitting);
        const auto& applications = world_people_.applications;
        application_ = static_cast<std::size_t>(chance.bits() % applications.size());
        const sim::ApplicationParameters& application = applications[application_];
        Familiar& familiar = familiar_[application_];
        on_mains_ = plan_.world.mains_need != 1.0 && chance.uniform() < 0.5;
        whom_ = {"simulated", application.name};
        each<sim::Capped>([&](sim::Capped& capped) {
            if (contender_ == Contender::LearnedCap) {
                capped.limit(familiar.cap);
            }
        });
        each<sim::KnownCap>([&](sim::KnownCap& capped) {
            const double need = kKnownMargin * familiar.taste.need_khz;
            capped.limit(machine_.ladder().at_or_above(Khz{static_cast<std::uint32_t>(need)}, machine_.ladder().top()));
        });
        familiar.player->sit_down();
        sim::Workload workload(application.workload, familiar.taste.style, stream(kHoursWorkload, sitting));
        office_.reset();
        if (plan_.world.office) {
            office_.emplace(sim::office_applications()[application_], machine_.ladder().top().value,
                            stream(kHoursWorkload, sitting));
        }
        const double other_watts = plan_.machine.is_t61 ? application.other_watts : 0.0;
        for (Micros sat{0}; sat < kSitting && now_.time_since_epoch() < plan_.time; sat += kHoursStep) {
            need(familiar, chance);
            step(workload.next(kHoursStepSeconds));
            count(familiar, other_watts);
        }
    }

    // Draws the person's present needs.
    void need(Familiar& familiar, sim::Random& chance) {
        const sim::World& world = plan_.world;
        if (world.drift > 0.0) {
            const double keep = std::exp(-kHoursStepSeconds / kNeedDriftSeconds);
            familiar.drift = keep * familiar.drift + std::sqrt(1.0 - keep * keep) * chance.normal();
        }
        if (world.scenes > 0.0 && chance.happens(1.0 / kSceneSeconds, kHoursStepSeconds)) {
            scene_ = chance.normal();
        }
        sim::Taste taste = familiar.taste;
        taste.need_khz *= std::exp(world.drift * familiar.drift + world.scenes * scene_);
        taste.need_khz *= on_mains_ ? world.mains_need : 1.0;
        if (office_) {
            office_->next(kHoursStepSeconds, taste.need_khz / world_people_.applications[application_].need_khz);
            taste.need_khz = office_->need_khz();
        }
        familiar.player->feel(taste);
        each<sim::Oracle>([&](sim::Oracle& oracle) { oracle.feel(taste); });
    }

    void step(const sim::Demand& threads) {
        const sim::Demand demand{office_ ? office_->demand_khz(kHoursStepSeconds) : threads[0], threads[1] * speed()};
        each<sim::Oracle>([&](sim::Oracle& oracle) { oracle.tell(office_ ? office_->need_khz() : demand[0]); });
        machine_.run(kHoursStep, demand);
        now_ += kHoursStep;
        if (office_) {
            office_->ran(kHoursStepSeconds, machine_.khz().value);
        }
        bool pressed = office_ ? player().notice(now_, kHoursStepSeconds, machine_.khz(), office_->annoyance())
                               : player().live(now_, kHoursStepSeconds, machine_.khz(), demand[0]);
        if (plan_.world.slips_an_hour > 0.0 && has_keys(contender_) &&
            slips_.happens(plan_.world.slips_an_hour / 3600.0, kHoursStepSeconds)) {
            player().slip(slips_.uniform() < 0.5 ? Key::Performance : Key::Power, now_);
            pressed = true;
        }
        if (pressed) {
            loop_.pressed(now_);
        }
        each<sim::Udfs>([](sim::Udfs& udfs) { udfs.pass(kHoursStep); });
        if (now_ >= loop_.due()) {
            loop_.turn(now_);
        }
    }

    void count(Familiar& familiar, double other_watts) {
        joules_ += (machine_.watts() + other_watts) * kHoursStepSeconds;
        const double shortfall = office_ ? office_->shortfall() : player().felt();
        const double felt = shortfall >= kDissatisfied ? kHoursStepSeconds : 0.0;
        dissatisfied_ += felt;
        later_dissatisfied_ += now_.time_since_epoch() > kHour ? felt : 0.0;
        shortfall_ += shortfall * kHoursStepSeconds;
        if (familiar.spent < kFirstContact) {
            first_dissatisfied_ += felt;
            first_seconds_ += kHoursStepSeconds;
        }
        familiar.spent += kHoursStep;
    }

    sim::Player& player() { return *familiar_[application_].player; }

    void take(std::vector<Press>& presses) override { player().take(presses); }

    [[nodiscard]] bool present() const override { return true; }

    [[nodiscard]] Micros idle() const override {
        return office_ ? std::chrono::duration_cast<Micros>(std::chrono::duration<double>(office_->idle())) : Micros{0};
    }

    [[nodiscard]] const Served* served() const override { return serves() ? &whom_ : nullptr; }

    void turned(const Turn& turn) override {
        if (!turn.counted) {
            return;
        }
        const bool faster = *turn.counted == Key::Performance;
        ++presses_.at(faster ? 0 : 1);
        faster_by_hour_[static_cast<std::size_t>((turn.at.time_since_epoch() - kHoursStep) / kHour)] += faster ? 1 : 0;
        each<sim::Udfs>([&](sim::Udfs& udfs) { udfs.pressed(*turn.counted); });
        if (contender_ == Contender::LearnedCap) {
            Khz& cap = familiar_[application_].cap;
            cap = faster ? machine_.ladder().above(cap) : machine_.ladder().below(cap);
            each<sim::Capped>([&](sim::Capped& capped) { capped.limit(cap); });
        }
    }

    void failed(const Error& error) override { throw std::logic_error("simulation: " + error.message); }

    const LongRunPlan& plan_;
    Contender contender_;
    std::uint64_t seed_;
    std::size_t who_;
    sim::Person person_;
    sim::Random random_;
    sim::Random slips_;
    sim::Hardware hardware_;
    Participants world_people_;
    std::vector<std::unique_ptr<sim::KernelGovernor>> governors_;
    sim::Machine machine_;
    std::vector<Familiar> familiar_;
    std::size_t application_ = 0;
    double scene_ = 0.0;  // standard normal
    std::optional<sim::Office> office_;
    bool on_mains_ = false;
    Served whom_;
    MonoTime now_;
    MemoryProfiles profiles_;
    Loop loop_{{machine_, machine_, *this, *this, profiles_, *this},
               {.algorithm = settings(), .feedback = Feedback::Immediate, .domains = domains_of(hardware_.policies)},
               MonoTime()};
    double joules_ = 0.0;
    double dissatisfied_ = 0.0;
    double later_dissatisfied_ = 0.0;
    double shortfall_ = 0.0;
    double first_dissatisfied_ = 0.0;
    double first_seconds_ = 0.0;
    std::array<double, 2> presses_{};
    std::vector<double> faster_by_hour_;
};

}  // namespace

std::span<const Contender> contenders() {
    return kContenders;
}

std::string_view name_of(Contender contender) {
    return kContenderNames.at(static_cast<std::size_t>(contender));
}

bool has_keys(Contender contender) {
    switch (contender) {
        case Contender::LearnedCap:
        case Contender::Udfs:
        case Contender::Happe:
        case Contender::SingleSteps:
        case Contender::Extended:
        case Contender::Floor:
            return true;
        case Contender::Ondemand:
        case Contender::OndemandNow:
        case Contender::Schedutil:
        case Contender::Conservative:
        case Contender::FixedCap:
        case Contender::KnownCap:
        case Contender::Oracle:
            return false;
    }
    throw std::logic_error("no such contender");
}

Hours live_hours(const LongRunPlan& plan, Contender contender, std::uint64_t seed) {
    Hours mean;
    const auto people = sim::people(plan.count, plan.people.people, seed);
    for (std::size_t who = 0; who < people.size(); ++who) {
        const Hours one = Life(plan, contender, seed, who, people[who]).live();
        const auto share = 1.0 / static_cast<double>(people.size());
        mean.watts += share * one.watts;
        mean.dissatisfied += share * one.dissatisfied;
        mean.first_dissatisfied += share * one.first_dissatisfied;
        mean.later_dissatisfied += share * one.later_dissatisfied;
        mean.severity += share * one.severity;
        mean.performance_presses += share * one.performance_presses;
        mean.power_presses += share * one.power_presses;
        mean.faster_by_hour.resize(one.faster_by_hour.size());
        for (std::size_t hour = 0; hour < one.faster_by_hour.size(); ++hour) {
            mean.faster_by_hour[hour] += share * one.faster_by_hour[hour];
        }
    }
    return mean;
}

}  // namespace happe
