// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/sim/world_report.h"

#include "governor/sim/in_threads.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>

namespace happe {
namespace {

using Json = nlohmann::ordered_json;

// The mean of the hours after the first one; 0 if there are none.
double later(const std::vector<double>& by_hour) {
    const double sum = std::accumulate(by_hour.begin() + 1, by_hour.end(), 0.0);
    return by_hour.size() > 1 ? sum / static_cast<double>(by_hour.size() - 1) : 0.0;
}

// A column of the table: the figure of one row and seed.
struct WorldColumn {
    const char* name;   // in JSON
    const char* title;  // in the table
    int digits;
    double (*figure)(const WorldRow& row, std::size_t seed);
};

constexpr std::array kColumns{
    WorldColumn{"watts", "watts", 2, [](const WorldRow& row, std::size_t seed) { return row.by_seed[seed].watts; }},
    WorldColumn{"saving_percent", "saving %", 1,
                [](const WorldRow& row, std::size_t seed) { return row.saving_percent[seed]; }},
    WorldColumn{"oracle_share_percent", "of oracle %", 0,
                [](const WorldRow& row, std::size_t seed) { return row.oracle_share_percent[seed]; }},
    WorldColumn{"severity_percent", "severity %", 2,
                [](const WorldRow& row, std::size_t seed) { return row.by_seed[seed].severity; }},
    WorldColumn{"dissatisfied_seconds_a_minute", "dissat. s/min", 2,
                [](const WorldRow& row, std::size_t seed) { return row.by_seed[seed].dissatisfied; }},
    WorldColumn{"first_dissatisfied_seconds_a_minute", "first 10 min", 1,
                [](const WorldRow& row, std::size_t seed) { return row.by_seed[seed].first_dissatisfied; }},
    WorldColumn{"performance_presses_an_hour", "faster/h", 2,
                [](const WorldRow& row, std::size_t seed) { return row.by_seed[seed].performance_presses; }},
    WorldColumn{"power_presses_an_hour", "save/h", 2,
                [](const WorldRow& row, std::size_t seed) { return row.by_seed[seed].power_presses; }},
    WorldColumn{"later_dissatisfied_above_floor", "later dissat. +", 2,
                [](const WorldRow& row, std::size_t seed) { return row.above_floor[seed].later_dissatisfied; }},
    WorldColumn{"first_hour_performance_presses_above_floor", "first hour +", 2,
                [](const WorldRow& row, std::size_t seed) { return row.above_floor[seed].faster_by_hour.front(); }},
    WorldColumn{"later_performance_presses_above_floor_an_hour", "later faster/h +", 2,
                [](const WorldRow& row, std::size_t seed) { return later(row.above_floor[seed].faster_by_hour); }},
};

// "Faster" above the floor in this hour, over the seeds.
Estimate in_hour(const WorldRow& row, std::size_t hour) {
    std::vector<double> presses;
    for (const Hours& above : row.above_floor) {
        presses.push_back(above.faster_by_hour[hour]);
    }
    return Estimate::of(presses);
}

// People without keys press nothing, which is no merit: their difference in presses is 0.
Hours difference(Hours hours, const Hours& from, bool has_keys) {
    hours.later_dissatisfied -= from.later_dissatisfied;
    for (std::size_t hour = 0; has_keys && hour < hours.faster_by_hour.size(); ++hour) {
        hours.faster_by_hour[hour] -= from.faster_by_hour[hour];
    }
    return hours;
}

Estimate estimate(const WorldColumn& column, const WorldRow& row) {
    std::vector<double> figures;
    for (std::size_t seed = 0; seed < row.by_seed.size(); ++seed) {
        figures.push_back(column.figure(row, seed));
    }
    return Estimate::of(figures);
}

// Fills in the comparisons of the rows of one machine and world.
void compare(std::span<WorldRow> rows) {
    const auto of = [&](Contender contender, std::size_t seed) -> const Hours& {
        return std::ranges::find(rows, contender, &WorldRow::contender)->by_seed[seed];
    };
    for (WorldRow& row : rows) {
        for (std::size_t seed = 0; seed < row.by_seed.size(); ++seed) {
            const double most = of(Contender::Ondemand, seed).watts;
            const double saved = most - row.by_seed[seed].watts;
            row.saving_percent.push_back(100.0 * saved / most);
            row.oracle_share_percent.push_back(100.0 * saved / (most - of(Contender::Oracle, seed).watts));
            row.above_floor.push_back(
                difference(row.by_seed[seed], of(Contender::Floor, seed), has_keys(row.contender)));
        }
    }
}

void add_heading(std::string& text, const WorldRow& row) {
    fmt::format_to(std::back_inserter(text), "\n{:17}", row.machine + ", " + row.world);
    for (const WorldColumn& column : kColumns) {
        fmt::format_to(std::back_inserter(text), "{:>16}", column.title);
    }
    text += '\n';
}

// The table of presses hour by hour, of the governors whose people have keys.
void add_hours(std::string& text, std::span<const WorldRow> rows) {
    auto out = std::back_inserter(text);
    fmt::format_to(out, "\n{:17}", "faster + in hour");
    for (std::size_t hour = 0; hour < rows.front().by_seed.front().faster_by_hour.size(); ++hour) {
        fmt::format_to(out, "{:>16}", hour + 1);
    }
    text += '\n';
    for (const WorldRow& row : rows) {
        if (!has_keys(row.contender) || row.contender == Contender::Floor) {
            continue;
        }
        fmt::format_to(out, "{:17}", name_of(row.contender));
        for (std::size_t hour = 0; hour < row.by_seed.front().faster_by_hour.size(); ++hour) {
            const auto [mean, error] = in_hour(row, hour);
            fmt::format_to(out, "{:>16}", fmt::format("{:.2f} +- {:.2f}", mean, error));
        }
        text += '\n';
    }
}

}  // namespace

Estimate Estimate::of(const std::vector<double>& by_seed) {
    const auto count = static_cast<double>(by_seed.size());
    const double mean = std::accumulate(by_seed.begin(), by_seed.end(), 0.0) / count;
    double squares = 0.0;
    for (const double figure : by_seed) {
        squares += (figure - mean) * (figure - mean);
    }
    return {mean, by_seed.size() > 1 ? std::sqrt(squares / (count - 1) / count) : 0.0};
}

std::vector<WorldRow> run_worlds(const WorldsRequest& request) {
    std::vector<WorldRow> rows;
    std::vector<LongRunPlan> plans;
    for (const sim::MachineKind& machine : request.machines) {
        for (const sim::World& world : request.worlds) {
            for (const Contender contender : request.contenders) {
                plans.push_back({fitted_participants(), world, machine, request.people, request.time});
                rows.push_back({std::string(machine.name),
                                std::string(world.name),
                                contender,
                                std::vector<Hours>(request.seeds.size()),
                                {},
                                {},
                                {}});
            }
        }
    }
    in_threads(request.jobs, rows.size() * request.seeds.size(), [&](std::size_t i) {
        const std::size_t seed = i % request.seeds.size();
        WorldRow& row = rows[i / request.seeds.size()];
        row.by_seed[seed] = live_hours(plans[i / request.seeds.size()], row.contender, request.seeds[seed]);
        if (request.run_done) {
            request.run_done();
        }
    });
    for (std::size_t first = 0; first < rows.size(); first += request.contenders.size()) {
        compare(std::span(rows).subspan(first, request.contenders.size()));
    }
    return rows;
}

std::string worlds_text(const WorldsRequest& request, const std::vector<WorldRow>& rows) {
    std::string text;
    auto out = std::back_inserter(text);
    fmt::format_to(out, "Seeds {}..{}, {} people each, {:g} hours. Mean +- standard error over seeds.\n",
                   request.seeds.front(), request.seeds.back(), request.people,
                   std::chrono::duration<double, std::ratio<3600>>(request.time).count());
    text +=
        "+: above the floor, which is always the top frequency, with keys. Dissatisfied: a shortfall of 10 % or more.\n"
        "Severity: the mean shortfall. Later: after the first hour.\n";
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (i % request.contenders.size() == 0) {
            add_heading(text, rows[i]);
        }
        fmt::format_to(out, "{:17}", name_of(rows[i].contender));
        for (const WorldColumn& column : kColumns) {
            const auto [mean, error] = estimate(column, rows[i]);
            fmt::format_to(out, "{:>16}", fmt::format("{:.{}f} +- {:.{}f}", mean, column.digits, error, column.digits));
        }
        text += '\n';
        if (i % request.contenders.size() == request.contenders.size() - 1) {
            add_hours(text, std::span(rows).subspan(i + 1 - request.contenders.size(), request.contenders.size()));
        }
    }
    return text;
}

std::string worlds_json(const WorldsRequest& request, const std::vector<WorldRow>& rows) {
    Json results = Json::array();
    for (const WorldRow& row : rows) {
        Json result{{"machine", row.machine}, {"world", row.world}, {"governor", name_of(row.contender)}};
        for (const WorldColumn& column : kColumns) {
            const auto [mean, error] = estimate(column, row);
            result[column.name] = {{"mean", mean}, {"standard_error", error}};
        }
        for (std::size_t hour = 0; hour < row.by_seed.front().faster_by_hour.size(); ++hour) {
            const auto [mean, error] = in_hour(row, hour);
            result["performance_presses_above_floor_by_hour"].push_back({{"mean", mean}, {"standard_error", error}});
        }
        results.push_back(result);
    }
    return Json{{"seeds", request.seeds},
                {"people", request.people},
                {"seconds", std::chrono::duration_cast<std::chrono::seconds>(request.time).count()},
                {"provenance", fitted_participants().provenance},
                {"results", results}}
               .dump(2) +
           "\n";
}

}  // namespace happe
