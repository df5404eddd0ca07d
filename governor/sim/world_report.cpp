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
    WorldColumn{"dissatisfied_seconds_a_minute", "dissat. s/min", 2,
                [](const WorldRow& row, std::size_t seed) { return row.by_seed[seed].dissatisfied; }},
    WorldColumn{"first_dissatisfied_seconds_a_minute", "first 10 min", 1,
                [](const WorldRow& row, std::size_t seed) { return row.by_seed[seed].first_dissatisfied; }},
    WorldColumn{"performance_presses_an_hour", "faster/h", 2,
                [](const WorldRow& row, std::size_t seed) { return row.by_seed[seed].performance_presses; }},
    WorldColumn{"power_presses_an_hour", "save/h", 2,
                [](const WorldRow& row, std::size_t seed) { return row.by_seed[seed].power_presses; }},
};

Estimate estimate(const WorldColumn& column, const WorldRow& row) {
    std::vector<double> figures;
    for (std::size_t seed = 0; seed < row.by_seed.size(); ++seed) {
        figures.push_back(column.figure(row, seed));
    }
    return Estimate::of(figures);
}

// Fills in the comparisons of the rows of one machine and world.
void compare(std::span<WorldRow> rows) {
    const auto watts = [&](Contender contender, std::size_t seed) {
        return std::ranges::find(rows, contender, &WorldRow::contender)->by_seed[seed].watts;
    };
    for (WorldRow& row : rows) {
        for (std::size_t seed = 0; seed < row.by_seed.size(); ++seed) {
            const double most = watts(Contender::Ondemand, seed);
            const double saved = most - row.by_seed[seed].watts;
            row.saving_percent.push_back(100.0 * saved / most);
            row.oracle_share_percent.push_back(100.0 * saved / (most - watts(Contender::Oracle, seed)));
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
