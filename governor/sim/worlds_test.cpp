// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/sim/world_report.h"

#include "governor/sim/office.h"

#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace happe {
namespace {

WorldsRequest minutes(std::string_view machine, std::string_view world) {
    const auto everybody = contenders();
    return {.worlds = {*std::ranges::find(sim::worlds(), world, &sim::World::name)},
            .machines = {*std::ranges::find(sim::machine_kinds(), machine, &sim::MachineKind::name)},
            .contenders = {everybody.begin(), everybody.end()},
            .people = 2,
            .time = std::chrono::minutes(12),
            .seeds = {901, 902},
            .jobs = 1,
            .run_done = {}};
}

const Hours& of(const std::vector<WorldRow>& rows, Contender contender) {
    return std::ranges::find(rows, contender, &WorldRow::contender)->by_seed.front();
}

TEST(Estimate, is_a_mean_with_its_standard_error) {
    EXPECT_DOUBLE_EQ(Estimate::of({1, 2, 3}).mean, 2.0);
    EXPECT_DOUBLE_EQ(Estimate::of({1, 2, 3}).error, std::sqrt(1.0 / 3.0));
    EXPECT_DOUBLE_EQ(Estimate::of({4}).error, 0.0);
}

// Presses are no part of the hours: at the floor, where the keys do nothing, accidental ones change only their number.
TEST(Worlds, give_every_governor_the_same_hours) {
    WorldsRequest request = minutes("t61", "plausible");
    request.contenders = {Contender::Ondemand, Contender::Floor, Contender::Oracle};
    request.worlds.front().drift = 1.0;
    request.people = 6;
    request.worlds.push_back(request.worlds.front());
    request.worlds.front().slips_an_hour = 60.0;
    const auto rows = run_worlds(request);
    const Hours& slips = rows.at(1).by_seed.front();
    const Hours& none = rows.at(4).by_seed.front();
    EXPECT_GT(slips.power_presses, none.power_presses + 10.0);
    EXPECT_GT(slips.severity, 0.0);
    EXPECT_EQ(slips.severity, none.severity);
}

// The oracle draws the least power of the governors that satisfy people. Without keys nobody presses.
TEST(Worlds, compare_everyone_on_every_machine) {
    for (const sim::MachineKind& machine : sim::machine_kinds()) {
        const auto rows = run_worlds(minutes(machine.name, "plausible"));
        const Hours& oracle = of(rows, Contender::Oracle);
        EXPECT_LT(oracle.watts, of(rows, Contender::Schedutil).watts) << machine.name;
        EXPECT_LT(oracle.dissatisfied, of(rows, Contender::FixedCap).dissatisfied) << machine.name;
        EXPECT_GT(of(rows, Contender::Happe).performance_presses, 0.0) << machine.name;
        EXPECT_EQ(of(rows, Contender::Schedutil).performance_presses, 0.0) << machine.name;
        for (const WorldRow& row : rows) {
            EXPECT_GE(row.by_seed.front().severity, of(rows, Contender::Floor).severity) << name_of(row.contender);
            EXPECT_GE(row.by_seed.front().dissatisfied, of(rows, Contender::Floor).dissatisfied);
            EXPECT_NEAR(row.by_seed.front().faster_by_hour.front() * 5.0, row.by_seed.front().performance_presses,
                        1e-9);
        }
        const Hours& known = of(rows, Contender::KnownCap);
        EXPECT_LT(known.watts, of(rows, Contender::Schedutil).watts) << machine.name;
        EXPECT_LT(known.severity, of(rows, Contender::FixedCap).severity) << machine.name;
        EXPECT_EQ(rows.front().saving_percent.front(), 0.0);
        EXPECT_DOUBLE_EQ(rows.back().oracle_share_percent.front(), 100.0);
    }
}

TEST(Worlds, differ_as_their_names_say) {
    const auto happe = [](std::string_view world) {
        WorldsRequest request = minutes("t61", world);
        request.contenders = {Contender::Ondemand, Contender::Happe, Contender::Floor, Contender::Oracle};
        request.people = 4;
        return run_worlds(request);
    };
    const auto fitted = happe("fitted");
    EXPECT_EQ(of(happe("never-saves"), Contender::Happe).power_presses, 0.0);
    EXPECT_LT(of(happe("plausible"), Contender::Happe).power_presses, of(fitted, Contender::Happe).power_presses);
    EXPECT_LT(of(happe("mostly-idle"), Contender::Ondemand).watts, of(fitted, Contender::Ondemand).watts);
    EXPECT_GT(of(happe("load-jump"), Contender::Oracle).watts, of(happe("mostly-idle"), Contender::Oracle).watts);
    EXPECT_GT(of(happe("mains-and-battery"), Contender::Oracle).watts, of(fitted, Contender::Oracle).watts);
    EXPECT_NE(of(happe("need-follows-demand"), Contender::Oracle).watts, of(fitted, Contender::Oracle).watts);
}

TEST(Office, has_a_lag_where_an_interaction_takes_longer_than_the_person_tolerates) {
    constexpr double kTop = 1e6;
    constexpr double kStep = 0.04;
    const auto lagging = [](const sim::OfficeApplication& application, double share, double impatience) {
        sim::Office office(application, kTop, sim::Random({1}));
        double lag = 0.0;
        for (int step = 0; step < 30'000; ++step) {
            office.next(kStep, impatience);
            office.ran(kStep, share * kTop);
            lag += office.shortfall();
        }
        return lag / 30'000;
    };
    for (const sim::OfficeApplication& application : sim::office_applications()) {
        const double need = application.need();
        EXPECT_LT(lagging(application, 1.0, 1.0), 0.01) << application.name;
        EXPECT_GT(lagging(application, 0.5 * need, 1.0), 0.02) << application.name;
        if (application.name != "video") {  // nobody wants a film sooner
            EXPECT_GT(lagging(application, need, 1.5), lagging(application, need, 1.0)) << application.name;
        }
    }
}

TEST(Worlds, are_a_function_of_their_seeds_on_any_number_of_threads) {
    WorldsRequest request = minutes("modern", "scenes");
    int done = 0;
    request.run_done = [&done] { ++done; };
    const std::string alone = worlds_json(request, run_worlds(request));
    EXPECT_EQ(done, 2 * static_cast<int>(contenders().size()));
    request.run_done = {};
    request.jobs = 3;
    EXPECT_EQ(worlds_json(request, run_worlds(request)), alone);
    const auto first = nlohmann::json::parse(alone)["results"][0];
    EXPECT_EQ(first["governor"], "ondemand");
    EXPECT_GT(first["watts"]["standard_error"], 0.0);
}

}  // namespace
}  // namespace happe
