// SPDX-License-Identifier: GPL-2.0-or-later
// A study's runs as the paper's tables, each figure beside the paper's.
#pragma once

#include "governor/sim/study.h"

#include <optional>
#include <string>
#include <vector>

namespace happe {

// Our figure and, if the paper prints it, the paper's, with the allowed difference.
struct Figure {
    double ours = 0.0;
    std::optional<double> paper;
    double tolerance = 0.0;  // absolute, in the figure's unit

    [[nodiscard]] double difference() const { return paper ? ours - *paper : 0.0; }
    [[nodiscard]] double strain() const {
        return paper ? std::abs(difference()) / tolerance : 0.0;
    }  // above 1: too large
};

// Means over seeds; within a seed, means and sample standard deviations over its participants.
struct Cell {
    std::string application;
    std::string condition;
    Figure watts_mean;
    Figure watts_sd;
    Figure rating_mean;
    Figure rating_sd;
    std::optional<double> saving_percent;        // percent of ondemand's mean power
    std::optional<double> paper_saving_percent;  // the paper's "Imp."
    std::optional<double> oracle_share_percent;  // percent of the oracle's saving
    double utilisation_percent = 0.0;
};

struct Total {
    std::string condition;
    Figure saving_percent;  // mean over the applications
    std::optional<double> oracle_share_percent;
};

struct PressRow {
    std::string application;
    Figure training_performance;
    Figure training_power;
    Figure operating_performance;
    Figure operating_power;
};

struct GroupRow {
    std::string group;
    std::optional<double> saving_percent;  // over all HAPPE runs; empty if the group is empty
    double paper_percent;
};

struct StudyTables {
    std::vector<Cell> cells;
    std::vector<Total> totals;
    std::vector<PressRow> presses;
    std::vector<GroupRow> groups;
};

StudyTables tables(const StudyPlan& plan, const std::vector<std::vector<RunResult>>& seeds);

// A figure with its name, e.g. "torcs, O-HAPPE: standard deviation of power (W)".
struct NamedFigure {
    std::string name;
    Figure figure;
};

// All figures that the paper prints, the largest strain first.
std::vector<NamedFigure> against_paper(const StudyTables& tables);

// A study's results for people (text), scripts (JSON) and spreadsheets (CSV).
struct StudyResults {
    StudyPlan plan;
    std::string protocol;  // "paper" or "a3"
    std::vector<std::uint64_t> seeds;
    std::vector<std::vector<RunResult>> runs;  // by seed
    StudyTables tables;
};

std::string text_report(const StudyResults& results);
std::string json_report(const StudyResults& results);
std::string runs_csv(const StudyResults& results);

}  // namespace happe
