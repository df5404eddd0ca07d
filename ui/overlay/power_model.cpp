// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/overlay/power_model.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

namespace happe::embedded {

std::string_view t61_power();  // profiles/t61-power.csv, which the build embeds (cmake/Embed.cmake)

}  // namespace happe::embedded

namespace happe::ui {
namespace {

// The place of a value among ascending points: between `left` and the next one, `share` of the way.
struct Place {
    std::size_t left;
    double share;
};

template <typename Point>
Place place(const std::vector<Point>& points, double value) {
    const auto right = std::ranges::upper_bound(points, value, {}, [](Point point) { return double(point); });
    if (right == points.begin()) {
        return {0, 0.0};
    }
    const auto left = static_cast<std::size_t>(right - points.begin()) - 1;
    if (right == points.end()) {
        return {left, 0.0};
    }
    return {left, (value - double(points.at(left))) / (double(*right) - double(points.at(left)))};
}

double between(const std::vector<double>& values, Place at) {
    const double left = values.at(at.left);
    return at.share > 0.0 ? left + at.share * (values.at(at.left + 1) - left) : left;
}

template <typename Point>
bool ascends(const std::vector<Point>& points) {
    return std::ranges::adjacent_find(points, std::greater_equal<>()) == points.end();
}

bool is_power(double watts) {
    return std::isfinite(watts) && watts > 0.0;
}

// The mistake in a table; empty if there is none.
ModelError wrong_with(const PowerModel::Table& table) {
    if (table.utilisations.size() < 2 || !ascends(table.utilisations) || !(table.utilisations.front() >= 0.0) ||
        !(table.utilisations.back() <= 1.0)) {
        return "utilisations: two or more are wanted, ascending, from 0 to 100 percent";
    }
    if (table.frequencies.empty() || !ascends(table.frequencies) || table.frequencies.front() == 0) {
        return "frequencies: one or more are wanted, in kHz, ascending";
    }
    if (table.watts.size() != table.frequencies.size()) {
        return "watts: a row for each frequency is wanted";
    }
    for (const std::vector<double>& row : table.watts) {
        if (row.size() != table.utilisations.size() || !std::ranges::all_of(row, is_power)) {
            return "watts: in each row, a figure above 0 for each utilisation is wanted";
        }
    }
    return {};
}

// Removes the text before the next separator from `rest`, and returns it.
std::string_view take(std::string_view& rest, char separator) {
    const std::size_t end = std::min(rest.find(separator), rest.size());
    const std::string_view taken = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return taken;
}

std::optional<double> number(std::string_view text) {
    double value = 0.0;
    const auto [stop, error] = std::from_chars(text.begin(), text.end(), value);
    return error == std::errc() && stop == text.end() ? std::optional(value) : std::nullopt;
}

std::optional<std::vector<double>> numbers(std::string_view cells) {
    std::vector<double> values;
    while (!cells.empty()) {
        const std::optional<double> value = number(take(cells, ','));
        if (!value) {
            return std::nullopt;
        }
        values.push_back(*value);
    }
    return values;
}

// Adds a line: the first has the utilisations in percent, each other one has a frequency. False if it is neither.
bool add_line(PowerModel::Table& table, std::string_view line) {
    const std::string_view name = take(line, ',');
    auto values = numbers(line);
    if (!values) {
        return false;
    }
    if (table.utilisations.empty()) {
        std::ranges::transform(*values, std::back_inserter(table.utilisations), [](double it) { return it / 100; });
        return name == "khz";
    }
    const std::optional<double> khz = number(name);
    if (!khz || *khz < 1.0 || *khz > 20e6) {
        return false;
    }
    table.frequencies.push_back(static_cast<std::uint32_t>(*khz));
    table.watts.push_back(*std::move(values));
    return true;
}

}  // namespace

tl::expected<PowerModel, ModelError> PowerModel::from(Table table) {
    if (ModelError wrong = wrong_with(table); !wrong.empty()) {
        return tl::unexpected(std::move(wrong));
    }
    return PowerModel(std::move(table));
}

tl::expected<PowerModel, ModelError> PowerModel::from_csv(std::string_view text) {
    Table table;
    for (int number = 1; !text.empty(); ++number) {
        const std::string_view line = take(text, '\n');
        if (!line.empty() && line.front() != '#' && !add_line(table, line)) {
            return tl::unexpected("line " + std::to_string(number) +
                                  ": numbers with commas between them are wanted, \"khz\" before the first ones");
        }
    }
    return from(std::move(table));
}

const PowerModel& PowerModel::t61() {
    static const PowerModel model = from_csv(embedded::t61_power()).value();
    return model;
}

double PowerModel::watts(std::uint32_t khz, double utilisation) const {
    const Place row = place(table_.frequencies, khz);
    const Place column = place(table_.utilisations, utilisation);
    const double below = between(table_.watts.at(row.left), column);
    return row.share > 0.0 ? below + row.share * (between(table_.watts.at(row.left + 1), column) - below) : below;
}

}  // namespace happe::ui
