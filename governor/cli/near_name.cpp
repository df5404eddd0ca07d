// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/cli/near_name.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace happe {
namespace {

constexpr std::size_t kFarthest = 2;

// Levenshtein's distance, a row of his matrix at a time.
std::size_t distance(std::string_view from, std::string_view to) {
    std::vector<std::size_t> row(to.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < from.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i + 1);
        for (std::size_t j = 0; j < to.size(); ++j) {
            const std::size_t replaced = diagonal + (from[i] == to[j] ? 0 : 1);
            diagonal = std::exchange(row[j + 1], std::min({replaced, row[j] + 1, row[j + 1] + 1}));
        }
    }
    return row.back();
}

}  // namespace

std::string_view nearest_name(std::string_view typed, std::span<const std::string_view> names) {
    std::string_view nearest;
    std::size_t least = std::min(kFarthest + 1, (typed.size() + 1) / 2);
    for (const std::string_view name : names) {
        if (std::max(name.size(), typed.size()) - std::min(name.size(), typed.size()) >= least) {
            continue;  // its length alone makes it as far
        }
        if (const std::size_t far = distance(typed, name); far < least) {
            least = far;
            nearest = name;
        }
    }
    return nearest;
}

}  // namespace happe
