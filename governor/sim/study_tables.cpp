// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/sim/study_tables.h"

#include "governor/sim/paper_tables.h"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

namespace happe {
namespace {

// How far a simulation may be from the paper and still count as a reproduction.
constexpr double kOndemandWatts = 1.0;
constexpr double kHappeWatts = 1.5;
constexpr double kSavingPoints = 2.0;
constexpr double kRating = 0.15;
constexpr double kPressesPerMinute = 0.25;
constexpr double kSpreadShare = 0.40;

using Values = std::vector<double>;

double mean(const Values& values) {
    return values.empty() ? 0.0
                          : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double sample_sd(const Values& values) {
    if (values.size() < 2) {
        return 0.0;
    }
    const double centre = mean(values);
    double squares = 0.0;
    for (const double value : values) {
        squares += (value - centre) * (value - centre);
    }
    return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

using Which = std::function<bool(const RunResult&)>;
using What = std::function<double(const RunResult&)>;
using Summary = double (*)(const Values&);

double watts(const RunResult& run) {
    return run.watts;
}
double rating(const RunResult& run) {
    return run.rating;
}
double utilisation(const RunResult& run) {
    return run.utilisation;
}

class Summaries {
public:
    explicit Summaries(const std::vector<std::vector<RunResult>>& seeds) : seeds_(seeds) {}

    // The summary of a quantity over the runs of a seed, averaged over the seeds.
    double operator()(Summary summary, const What& what, const Which& which) const {
        Values per_seed;
        for (const auto& runs : seeds_) {
            Values values;
            for (const RunResult& run : runs) {
                if (which(run)) {
                    values.push_back(what(run));
                }
            }
            per_seed.push_back(summary(values));
        }
        return mean(per_seed);
    }

private:
    const std::vector<std::vector<RunResult>>& seeds_;
};

Which in_cell(std::size_t application, Condition condition) {
    return [=](const RunResult& run) { return run.application == application && run.condition == condition; };
}

bool has(const StudyPlan& plan, Condition condition) {
    return std::ranges::find(plan.conditions, condition) != plan.conditions.end();
}

Cell cell(const StudyPlan& plan, const Summaries& over, std::size_t application, Condition condition) {
    const Which here = in_cell(application, condition);
    Cell cell;
    cell.application = plan.participants.applications[application].name;
    cell.condition = condition.name();
    cell.watts_mean.ours = over(mean, watts, here);
    cell.watts_sd.ours = over(sample_sd, watts, here);
    cell.rating_mean.ours = over(mean, rating, here);
    cell.rating_sd.ours = over(sample_sd, rating, here);
    cell.utilisation_percent = 100.0 * over(mean, utilisation, here);
    if (has(plan, {Rule::Ondemand, 0})) {
        const double ondemand = over(mean, watts, in_cell(application, {Rule::Ondemand, 0}));
        cell.saving_percent = 100.0 * (1.0 - cell.watts_mean.ours / ondemand);
        if (has(plan, {Rule::Oracle, 0})) {
            const double best = over(mean, watts, in_cell(application, {Rule::Oracle, 0}));
            cell.oracle_share_percent = 100.0 * (ondemand - cell.watts_mean.ours) / (ondemand - best);
        }
    }
    return cell;
}

void add_paper(Cell& cell) {
    for (const paper::Cell& printed : paper::kTableA1) {
        if (printed.application != cell.application || printed.condition != cell.condition) {
            continue;
        }
        cell.watts_mean.paper = printed.watts_mean;
        cell.watts_mean.tolerance = printed.condition == "ondemand" ? kOndemandWatts : kHappeWatts;
        cell.watts_sd.paper = printed.watts_sd;
        cell.watts_sd.tolerance = kSpreadShare * printed.watts_sd;
        cell.paper_saving_percent = printed.saving_percent;
        cell.rating_mean.paper = printed.rating_mean;
        cell.rating_mean.tolerance = kRating;
        cell.rating_sd.paper = printed.rating_sd;
        cell.rating_sd.tolerance = kSpreadShare * printed.rating_sd;
    }
}

Total total(const StudyPlan& plan, const std::vector<Cell>& cells, Condition condition) {
    Values savings;
    Values shares;
    for (const Cell& cell : cells) {
        if (cell.condition == condition.name()) {
            savings.push_back(cell.saving_percent.value_or(0.0));
            shares.push_back(cell.oracle_share_percent.value_or(0.0));
        }
    }
    Total total{.condition = condition.name(),
                .saving_percent = {.ours = mean(savings), .paper = {}},
                .oracle_share_percent = {}};
    if (has(plan, {Rule::Oracle, 0})) {
        total.oracle_share_percent = mean(shares);
    }
    const auto* const printed = std::ranges::find(paper::kSavings, total.condition, &paper::Saving::condition);
    const bool whole = plan.participants.applications.size() == paper::kTableA3.size();
    if (printed != paper::kSavings.end() && whole) {
        total.saving_percent.paper = printed->percent;
        total.saving_percent.tolerance = kSavingPoints;
    }
    return total;
}

void add_totals(StudyTables& result, const StudyPlan& plan) {
    for (const Condition& condition : plan.conditions) {
        if (condition.rule != Rule::Ondemand) {
            result.totals.push_back(total(plan, result.cells, condition));
        }
    }
}

PressRow press_row(const StudyPlan& plan, const Summaries& over, std::size_t application) {
    const double minutes = std::chrono::duration<double>(plan.run_time).count() / 60.0;
    const What performance = [=](const RunResult& run) { return run.performance_presses / minutes; };
    const What power = [=](const RunResult& run) { return run.power_presses / minutes; };
    const Which training = in_cell(application, {Rule::THappe, 0});
    const Which operating = [=](const RunResult& run) {
        return run.application == application &&
               (run.condition.rule == Rule::OHappe || run.condition.rule == Rule::BHappe);
    };
    PressRow row{.application = plan.participants.applications[application].name,
                 .training_performance = {.ours = over(mean, performance, training), .paper = {}},
                 .training_power = {.ours = over(mean, power, training), .paper = {}},
                 .operating_performance = {.ours = over(mean, performance, operating), .paper = {}},
                 .operating_power = {.ours = over(mean, power, operating), .paper = {}}};
    const auto* const printed = std::ranges::find(paper::kTableA3, row.application, &paper::Presses::application);
    if (printed != paper::kTableA3.end()) {
        const auto with_paper = [](Figure& figure, double value) {
            figure.paper = value;
            figure.tolerance = kPressesPerMinute;
        };
        with_paper(row.training_performance, printed->training_performance);
        with_paper(row.training_power, printed->training_power);
        with_paper(row.operating_performance, printed->operating_performance);
        with_paper(row.operating_power, printed->operating_power);
    }
    return row;
}

bool belongs(const sim::Person& person, std::string_view group) {
    return group == sim::name(person.experience) || group == sim::name(person.major);
}

GroupRow group_row(const Summaries& over, const paper::GroupSaving& printed) {
    const auto members = [&](bool happe) {
        return [&printed, happe](const RunResult& run) {
            return (happe ? run.condition.is_happe() : run.condition.rule == Rule::Ondemand) &&
                   belongs(run.person, printed.group);
        };
    };
    GroupRow row{.group = std::string(printed.group), .saving_percent = {}, .paper_percent = printed.percent};
    if (const double ondemand = over(mean, watts, members(false)); ondemand > 0.0) {
        row.saving_percent = 100.0 * (1.0 - over(mean, watts, members(true)) / ondemand);
    }
    return row;
}

void collect(std::vector<NamedFigure>& all, const std::string& name, const Figure& figure) {
    if (figure.paper) {
        all.push_back({name, figure});
    }
}

}  // namespace

StudyTables tables(const StudyPlan& plan, const std::vector<std::vector<RunResult>>& seeds) {
    const Summaries over(seeds);
    const std::size_t applications = plan.participants.applications.size();
    StudyTables result;
    for (std::size_t application = 0; application < applications; ++application) {
        for (const Condition& condition : plan.conditions) {
            result.cells.push_back(cell(plan, over, application, condition));
            add_paper(result.cells.back());
        }
    }
    if (has(plan, {Rule::Ondemand, 0})) {
        add_totals(result, plan);
    }
    if (has(plan, {Rule::Ondemand, 0}) && has(plan, {Rule::THappe, 0})) {
        for (std::size_t application = 0; application < applications; ++application) {
            result.presses.push_back(press_row(plan, over, application));
        }
        for (const paper::GroupSaving& group : paper::kGroups) {
            result.groups.push_back(group_row(over, group));
        }
    }
    return result;
}

std::vector<NamedFigure> against_paper(const StudyTables& tables) {
    std::vector<NamedFigure> all;
    for (const Cell& cell : tables.cells) {
        const std::string where = cell.application + ", " + cell.condition + ": ";
        collect(all, where + "mean power (W)", cell.watts_mean);
        collect(all, where + "standard deviation of power (W)", cell.watts_sd);
        collect(all, where + "mean rating", cell.rating_mean);
        collect(all, where + "standard deviation of ratings", cell.rating_sd);
    }
    for (const Total& total : tables.totals) {
        collect(all, total.condition + ": overall saving (%)", total.saving_percent);
    }
    for (const PressRow& row : tables.presses) {
        collect(all, row.application + ", training: performance key (presses/min)", row.training_performance);
        collect(all, row.application + ", training: power key (presses/min)", row.training_power);
        collect(all, row.application + ", operating: performance key (presses/min)", row.operating_performance);
        collect(all, row.application + ", operating: power key (presses/min)", row.operating_power);
    }
    std::ranges::sort(all, [](const NamedFigure& a, const NamedFigure& b) {
        return std::pair(-a.figure.strain(), a.name) < std::pair(-b.figure.strain(), b.name);
    });
    return all;
}

}  // namespace happe
