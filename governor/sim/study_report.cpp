// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/sim/study_tables.h"

#include "governor/sim/machine.h"

#include <fmt/format.h>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

namespace happe {
namespace {

using Json = nlohmann::ordered_json;

// "30.38 (paper 30.38, -0.01)"
std::string with_paper(const Figure& figure, int digits) {
    if (!figure.paper) {
        return fmt::format("{:7.{}f}                  ", figure.ours, digits);
    }
    return fmt::format("{:7.{}f} {:7.{}f} {:+7.{}f}{} ", figure.ours, digits, *figure.paper, digits,
                       figure.difference(), digits, figure.strain() > 1.0 ? "!" : " ");
}

std::string percent(const std::optional<double>& value, int digits = 1) {
    return value ? fmt::format("{:6.{}f} %", *value, digits) : std::string("     -  ");
}

// Ours, the paper's and the difference; it has no tolerance of its own.
std::string saving(const Cell& cell) {
    return with_paper(
        {.ours = cell.saving_percent.value_or(0.0), .paper = cell.paper_saving_percent, .tolerance = HUGE_VAL}, 2);
}

void add_power(std::string& text, const StudyResults& results) {
    auto out = std::back_inserter(text);
    const bool compared = !results.tables.totals.empty();
    fmt::format_to(out, "{:10} {:12} {:^24} {:^24}", "", "", "mean power (W)", "standard deviation");
    text += compared ? fmt::format(" {:^24} {:>9}\n", "saving (%)", "of oracle") : "\n";
    for (const Cell& cell : results.tables.cells) {
        fmt::format_to(out, "{:10} {:12} {}{}", cell.application, cell.condition, with_paper(cell.watts_mean, 2),
                       with_paper(cell.watts_sd, 2));
        text += compared ? saving(cell) + percent(cell.oracle_share_percent) + "\n" : "\n";
    }
}

void add_ratings(std::string& text, const StudyResults& results) {
    auto out = std::back_inserter(text);
    fmt::format_to(out, "\n{:10} {:12} {:^24} {:^24} {:>8}\n", "", "", "mean rating (1 to 5)", "standard deviation",
                   "CPU busy");
    for (const Cell& cell : results.tables.cells) {
        fmt::format_to(out, "{:10} {:12} {}{}{:6.1f} %\n", cell.application, cell.condition,
                       with_paper(cell.rating_mean, 2), with_paper(cell.rating_sd, 2), cell.utilisation_percent);
    }
}

void add_cells(std::string& text, const StudyResults& results) {
    text += results.protocol == "a3" ? "Fixed frequencies: simulated\n"
                                     : "Table A.1: simulated | paper | difference (! out of tolerance)\n";
    add_power(text, results);
    add_ratings(text, results);
}

void add_totals(std::string& text, const StudyTables& tables) {
    auto out = std::back_inserter(text);
    fmt::format_to(
        out,
        "\nOverall saving (%), mean over the applications: simulated | paper | difference, share of the oracle's\n");
    for (const Total& total : tables.totals) {
        fmt::format_to(out, "{:12} {} {}\n", total.condition, with_paper(total.saving_percent, 2),
                       percent(total.oracle_share_percent));
    }
}

void add_presses(std::string& text, const StudyTables& tables) {
    auto out = std::back_inserter(text);
    fmt::format_to(out, "\nTable A.3, key presses a minute (a burst counts once): simulated | paper | difference\n");
    fmt::format_to(out, "{:10} {:^25}{:^25}{:^25}{:^25}\n", "", "training, faster", "training, save power",
                   "operating, faster", "operating, save power");
    for (const PressRow& row : tables.presses) {
        fmt::format_to(out, "{:10} {}{}{}{}\n", row.application, with_paper(row.training_performance, 2),
                       with_paper(row.training_power, 2), with_paper(row.operating_performance, 2),
                       with_paper(row.operating_power, 2));
    }
    fmt::format_to(out, "\nSection A.5.6, saving over all HAPPE runs: simulated | paper\n");
    for (const GroupRow& row : tables.groups) {
        fmt::format_to(out, "{:13} {} {}\n", row.group, percent(row.saving_percent, 2), percent(row.paper_percent, 2));
    }
}

void add_verdict(std::string& text, const StudyTables& tables, std::size_t seeds) {
    auto out = std::back_inserter(text);
    const std::vector<NamedFigure> figures = against_paper(tables);
    if (figures.empty()) {
        return;
    }
    std::size_t outside = 0;
    for (const NamedFigure& named : figures) {
        outside += named.figure.strain() > 1.0 ? 1 : 0;
    }
    const NamedFigure& worst = figures.front();
    fmt::format_to(out, "\nWorst cell: {}: {:.2f}, paper {:.2f}, {:.0f} % of the tolerance of {:.2f}.\n", worst.name,
                   worst.figure.ours, *worst.figure.paper, 100.0 * worst.figure.strain(), worst.figure.tolerance);
    fmt::format_to(out, "{} of {} figures are within their tolerance", figures.size() - outside, figures.size());
    text += outside == 0 ? ".\n" : "; the others are marked !\n";
    if (seeds == 1) {
        text += "One study of so few strays by chance; tolerances are meant for the means of several: --seed 1..10\n";
    }
}

Json figure(const Figure& figure) {
    Json json = {{"ours", figure.ours}};
    if (figure.paper) {
        json["paper"] = *figure.paper;
        json["difference"] = figure.difference();
        json["tolerance"] = figure.tolerance;
    }
    return json;
}

Json optional(const std::optional<double>& value) {
    return value ? Json(*value) : Json(nullptr);
}

Json cells(const StudyTables& tables) {
    auto array = Json::array();
    for (const Cell& cell : tables.cells) {
        array.push_back({{"application", cell.application},
                         {"condition", cell.condition},
                         {"power_mean_w", figure(cell.watts_mean)},
                         {"power_sd_w", figure(cell.watts_sd)},
                         {"rating_mean", figure(cell.rating_mean)},
                         {"rating_sd", figure(cell.rating_sd)},
                         {"saving_percent", optional(cell.saving_percent)},
                         {"paper_saving_percent", optional(cell.paper_saving_percent)},
                         {"oracle_share_percent", optional(cell.oracle_share_percent)},
                         {"utilisation_percent", cell.utilisation_percent}});
    }
    return array;
}

Json totals(const StudyTables& tables) {
    auto array = Json::array();
    for (const Total& total : tables.totals) {
        array.push_back({{"condition", total.condition},
                         {"saving_percent", figure(total.saving_percent)},
                         {"oracle_share_percent", optional(total.oracle_share_percent)}});
    }
    return array;
}

Json presses(const StudyTables& tables) {
    auto array = Json::array();
    for (const PressRow& row : tables.presses) {
        array.push_back({{"application", row.application},
                         {"training_performance_per_min", figure(row.training_performance)},
                         {"training_power_per_min", figure(row.training_power)},
                         {"operating_performance_per_min", figure(row.operating_performance)},
                         {"operating_power_per_min", figure(row.operating_power)}});
    }
    return array;
}

Json groups(const StudyTables& tables) {
    auto array = Json::array();
    for (const GroupRow& row : tables.groups) {
        array.push_back({{"group", row.group},
                         {"saving_percent", optional(row.saving_percent)},
                         {"paper_percent", row.paper_percent}});
    }
    return array;
}

Json worst(const StudyTables& tables) {
    const std::vector<NamedFigure> figures = against_paper(tables);
    if (figures.empty()) {
        return nullptr;
    }
    Json json = {{"name", figures.front().name}, {"share_of_tolerance", figures.front().figure.strain()}};
    json.update(figure(figures.front().figure));
    return json;
}

std::string csv_header() {
    std::string text =
        "seed,participant,experience,major,application,condition,category,need_khz,power_mean_w,utilisation,rating,"
        "performance_presses,power_presses";
    auto out = std::back_inserter(text);
    const Ladder& ladder = t61_ladder();
    for (std::size_t i = 0; i < ladder.size(); ++i) {
        fmt::format_to(out, ",seconds_at_{}", ladder[i].value);
    }
    for (std::size_t level = 0; level < Uafp::kLevels; ++level) {
        fmt::format_to(out, ",uafp_{}_khz", level);
    }
    return text + '\n';
}

void add_run(std::string& text, const RunResult& run, const std::string& application) {
    auto out = std::back_inserter(text);
    fmt::format_to(out, "{},{},{},{},{},{},{},{:.0f},{:.4f},{:.4f},{},{},{}", run.seed, run.participant + 1,
                   sim::name(run.person.experience), sim::name(run.person.major), application, run.condition.name(),
                   sim::name(run.taste.category(t61_ladder())), run.taste.need_khz, run.watts, run.utilisation,
                   run.rating, run.performance_presses, run.power_presses);
    for (const double seconds : run.state_seconds) {
        fmt::format_to(out, ",{:.2f}", seconds);
    }
    for (std::size_t level = 0; level < Uafp::kLevels; ++level) {
        fmt::format_to(out, ",{}", run.uafp ? std::to_string(run.uafp->values().at(level).value) : "");
    }
    text += '\n';
}

}  // namespace

std::string text_report(const StudyResults& results) {
    std::string text =
        fmt::format("Simulated study, protocol {}: {} participants, {} seed{} from {}.\nParticipants: {}.\n\n",
                    results.protocol, results.plan.count, results.seeds.size(), results.seeds.size() == 1 ? "" : "s",
                    results.seeds.front(), results.plan.participants.provenance);
    add_cells(text, results);
    if (!results.tables.totals.empty()) {
        add_totals(text, results.tables);
    }
    if (!results.tables.presses.empty()) {
        add_presses(text, results.tables);
    }
    add_verdict(text, results.tables, results.seeds.size());
    return text;
}

std::string json_report(const StudyResults& results) {
    const Json json = {{"format", "happe-simulated-study/1"},
                       {"protocol", results.protocol},
                       {"provenance", results.plan.participants.provenance},
                       {"participants", results.plan.count},
                       {"seeds", results.seeds},
                       {"run_seconds", std::chrono::duration<double>(results.plan.run_time).count()},
                       {"cells", cells(results.tables)},
                       {"totals", totals(results.tables)},
                       {"presses", presses(results.tables)},
                       {"groups", groups(results.tables)},
                       {"worst", worst(results.tables)}};
    return json.dump(2) + "\n";
}

std::string runs_csv(const StudyResults& results) {
    std::string text = csv_header();
    for (const auto& seed : results.runs) {
        for (const RunResult& run : seed) {
            add_run(text, run, results.plan.participants.applications[run.application].name);
        }
    }
    return text;
}

}  // namespace happe
