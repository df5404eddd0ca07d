// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/sim/field/field_study.h"

#include "governor/core/loop.h"
#include "governor/core/memory_profiles.h"
#include "governor/sim/random.h"
#include "governor/sim/worlds/worlds.h"
#include "governor/system/files.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace happe {
namespace {

constexpr Micros kFieldStep = std::chrono::seconds{1};
constexpr double kSoonest = 2.0;  // seconds before a person can notice a probe
constexpr double kLatest = 58.0;
constexpr Khz kBegins{3'600'000};  // the profile of a person's first day

enum FieldStream : std::uint8_t { kFieldPerson = 40, kFieldSeed };

// The tables of an export, CSV.
struct Tables {
    std::string runs = "run,participant,position,application,condition,seconds,state\n";
    std::string ratings = "run,rating,guess\n";
    std::string participants = "participant,state\n";
    std::string records = "run,started_us,ended_us\n";
    std::string keys = "run,t_us,key\n";
    std::string probes = "run,t_us,sham,outcome,served_us\n";
};

template <typename... T>
void add(std::string& table, fmt::format_string<T...> line, T&&... cells) {
    fmt::format_to(std::back_inserter(table), line, std::forward<T>(cells)...);
}

sim::Hardware hardware() {
    return std::ranges::find(sim::machine_kinds(), "modern", &sim::MachineKind::name)->hardware();
}

const Served kWhom{"simulated", "work"};

MemoryProfiles beginner() {
    MemoryProfiles profiles;
    profiles.profiles.emplace(kWhom, Uafp(kBegins));
    profiles.waits.emplace(kWhom, kRaisedPatience);
    return profiles;
}

// One person's day: a run under L-HAPPE. `profiles` is the person's, and learns.
class Day : UtilisationSource, FocusSource, KeySource, Witness {
public:
    Day(const FieldPlan& plan, std::size_t person, std::size_t day, std::string code, MemoryProfiles& profiles,
        Tables& tables)
        : plan_(plan),
          random_({plan.seed, kFieldPerson, person, day}),
          code_(std::move(code)),
          profiles_(profiles),
          tables_(tables),
          machine_(hardware(), {&idle_}, 0.0),
          settings_(kExtended) {
        settings_.probe_seed = sim::Random({plan.seed, kFieldSeed, person, day}).bits() >> 1U;
    }

    void live() {
        Loop loop({*this, machine_, *this, *this, profiles_, *this}, {.algorithm = settings_}, MonoTime());
        for (now_ += kFieldStep; now_.time_since_epoch() <= plan_.day; now_ += kFieldStep) {
            press();
            loop.turn(now_);
        }
        end_probe("");
    }

private:
    // Presses the keys, shortly before the turn.
    void press() {
        const bool noticed = notices_ && *notices_ <= now_;
        const double seconds = std::chrono::duration<double>(kFieldStep).count();
        if (noticed || random_.happens(plan_.slips_an_hour / 3600.0, seconds)) {
            pressed_ = now_ - kFieldStep / 2;
            add(tables_.keys, "{},{},performance\n", code_, pressed_->time_since_epoch().count());
        }
        if (noticed) {
            notices_.reset();
        }
    }

    void take(std::vector<Press>& presses) override {
        if (pressed_) {
            presses.push_back({Key::Performance, *pressed_});
            pressed_.reset();
        }
    }

    void turned(const Turn& turn) override {
        if (turn.decision.probe == ProbeEvent::Begun) {
            begun_ = turn.at;
            sham_ = turn.decision.sham;
            if (!sham_ && random_.uniform() < plan_.notice) {
                const double after = kSoonest + (kLatest - kSoonest) * random_.uniform();
                notices_ = turn.at + Micros(static_cast<std::int64_t>(after * 1e6));
            }
        } else if (turn.decision.probe) {
            end_probe(name_of(*turn.decision.probe));
        }
    }

    // A person who pressed for another reason does not press again for the probe that this press refused.
    void end_probe(const char* outcome) {
        if (begun_) {
            add(tables_.probes, "{},{},{},{},{}\n", code_, begun_->time_since_epoch().count(), sham_, outcome,
                plan_.day.count());
        }
        begun_.reset();
        notices_.reset();
    }

    // The work of half a CPU at full speed.
    Result<std::span<const std::optional<Ppm>>> sample() override {
        const double khz = machine_.khz().value;
        const double busy = std::min(1.0, machine_.ladder().top().value / 2.0 / khz);
        sampled_.assign(2, Ppm{static_cast<std::uint32_t>(busy * kOne.value)});
        return sampled_;
    }

    [[nodiscard]] const Served* served() const override { return &kWhom; }
    [[nodiscard]] bool present() const override { return true; }
    void failed(const Error& error) override { throw std::logic_error("simulation: " + error.message); }

    const FieldPlan& plan_;
    sim::Random random_;
    std::string code_;
    MemoryProfiles& profiles_;
    Tables& tables_;
    sim::Fixed idle_{kBegins};
    sim::Machine machine_;
    Settings settings_;
    std::vector<std::optional<Ppm>> sampled_;
    MonoTime now_;
    std::optional<MonoTime> begun_;    // the probe that runs
    bool sham_ = false;                // true if that probe is a sham
    std::optional<MonoTime> notices_;  // when its person presses
    std::optional<MonoTime> pressed_;
};

Tables simulate(const FieldPlan& plan) {
    Tables tables;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(plan.day).count();
    for (std::size_t person = 0; person < plan.people; ++person) {
        const std::string who = fmt::format("P{:07X}", person);
        add(tables.participants, "{},done\n", who);
        MemoryProfiles profiles = beginner();
        for (std::size_t day = 0; day < plan.days; ++day) {
            const std::string code = fmt::format("R{:07X}", person * plan.days + day);
            add(tables.runs, "{},{},{},day-{},L-HAPPE,{},complete\n", code, who, day + 1, day + 1, seconds);
            add(tables.ratings, "{},5,\n", code);
            add(tables.records, "{},0,{}\n", code, plan.day.count());
            Day(plan, person, day, code, profiles, tables).live();
        }
    }
    return tables;
}

}  // namespace

Status write_field_study(const FieldPlan& plan, const std::filesystem::path& folder) {
    std::error_code error;
    std::filesystem::create_directories(folder / "export", error);
    if (error) {
        return failure(fmt::format("{}: cannot create: {}", folder.string(), error.message()));
    }
    const Tables tables = simulate(plan);
    const std::array files{std::pair{"runs", &tables.runs},       std::pair{"ratings", &tables.ratings},
                           std::pair{"records", &tables.records}, std::pair{"participants", &tables.participants},
                           std::pair{"keys", &tables.keys},       std::pair{"probes", &tables.probes}};
    for (const auto& [name, text] : files) {
        if (const Status written = write_file(folder / "export" / fmt::format("field-{}.csv", name), *text); !written) {
            return written;
        }
    }
    return {};
}

}  // namespace happe
