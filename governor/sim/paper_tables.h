// SPDX-License-Identifier: GPL-2.0-or-later
// The paper's printed results (Lei Yang's dissertation, appendix A), for comparison.
#pragma once

#include <array>
#include <string_view>

namespace happe::paper {

// Table A.1: watts and ratings (1 to 5), mean and sample standard deviation over 24 users.
struct Cell {
    std::string_view application;
    std::string_view condition;
    double watts_mean;
    double watts_sd;
    double rating_mean;
    double rating_sd;
    double saving_percent;  // "Imp.": of ondemand's mean power
};

inline constexpr std::array kTableA1{
    Cell{"torcs", "ondemand", 39.46, 1.18, 4.54, 0.59, 0.00},
    Cell{"torcs", "T-HAPPE", 30.38, 2.32, 4.42, 0.58, 23.02},
    Cell{"torcs", "O-HAPPE", 32.72, 2.92, 4.67, 0.64, 17.09},
    Cell{"torcs", "B-HAPPE", 31.00, 2.31, 4.33, 0.70, 21.45},
    Cell{"quake3", "ondemand", 38.89, 1.54, 4.88, 0.34, 0.00},
    Cell{"quake3", "T-HAPPE", 28.03, 0.46, 4.88, 0.34, 27.93},
    Cell{"quake3", "O-HAPPE", 28.38, 1.27, 4.92, 0.28, 27.03},
    Cell{"quake3", "B-HAPPE", 27.23, 0.88, 4.92, 0.28, 29.97},
    Cell{"glest", "ondemand", 37.70, 0.77, 4.54, 0.59, 0.00},
    Cell{"glest", "T-HAPPE", 27.58, 1.72, 4.50, 0.59, 26.85},
    Cell{"glest", "O-HAPPE", 28.45, 2.72, 4.58, 0.58, 24.54},
    Cell{"glest", "B-HAPPE", 28.43, 2.52, 4.67, 0.56, 24.60},
    Cell{"trackballs", "ondemand", 42.30, 0.51, 4.46, 0.72, 0.00},
    Cell{"trackballs", "T-HAPPE", 26.99, 2.66, 4.38, 0.58, 36.18},
    Cell{"trackballs", "O-HAPPE", 30.07, 6.05, 4.58, 0.50, 28.91},
    Cell{"trackballs", "B-HAPPE", 29.52, 5.69, 4.58, 0.50, 30.21},
};

// Section A.5.2: mean reduction of power over the four applications, percent.
struct Saving {
    std::string_view condition;
    double percent;
};

inline constexpr std::array kSavings{Saving{"T-HAPPE", 28.50}, Saving{"O-HAPPE", 24.39}, Saving{"B-HAPPE", 26.56}};

// Table A.3: key presses a minute, mean over users; operating is O- and B-HAPPE.
struct Presses {
    std::string_view application;
    double training_performance;
    double training_power;
    double operating_performance;
    double operating_power;
};

inline constexpr std::array kTableA3{
    Presses{"torcs", 1.13, 0.40, 0.46, 0.27},
    Presses{"trackballs", 0.69, 0.14, 0.14, 0.16},
    Presses{"glest", 0.36, 0.23, 0.19, 0.34},
    Presses{"quake3", 0.13, 0.38, 0.11, 0.38},
};

// Section A.5.6: mean reduction of power over all runs under HAPPE, percent.
struct GroupSaving {
    std::string_view group;
    double percent;
};

inline constexpr std::array kGroups{GroupSaving{"EECS", 25.40}, GroupSaving{"other", 28.26},
                                    GroupSaving{"master", 23.16}, GroupSaving{"moderate", 25.91},
                                    GroupSaving{"beginner", 30.29}};

}  // namespace happe::paper
