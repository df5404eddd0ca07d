// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/overlay/power_model.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

namespace happe::embedded {

std::string_view t61_power();  // profiles/t61-power.csv, which the build embeds (cmake/Embed.cmake)

}  // namespace happe::embedded

namespace happe::ui {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostBytes = 1 << 20;
constexpr double kMostKhz = 20e6;
constexpr std::array kFields{"format", "machine", "measured", "utilisations_percent", "frequencies_khz", "watts"};

double share_of(double percent) {
    return percent / 100.0;
}

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

// Throws with the field's name in front, as all below do.
std::vector<double> numbers(const Json& list, const std::string& field) {
    if (!list.is_array() || !std::ranges::all_of(list, [](const Json& entry) { return entry.is_number(); })) {
        throw std::runtime_error(field + ": a list of numbers is wanted");
    }
    return list;
}

void check_fields(const Json& document) {
    for (const char* const name : kFields) {
        if (!document.contains(name)) {
            throw std::runtime_error(std::string(name) + ": is missing");
        }
    }
    for (const auto& [name, value] : document.items()) {
        if (std::ranges::find(kFields, name) == kFields.end()) {
            throw std::runtime_error(name + ": is no field of a power model");
        }
    }
    if (document.at("format") != "happe-power-model/1") {
        throw std::runtime_error("format: \"happe-power-model/1\" is wanted");
    }
}

std::uint32_t khz_of(double value) {
    if (!(value >= 1.0 && value <= kMostKhz && value == std::floor(value))) {
        throw std::runtime_error("frequencies_khz: whole numbers are wanted");
    }
    return static_cast<std::uint32_t>(value);
}

// The file that the build embeds: lines of '#', then "khz" and utilisations in percent, then kHz and watts.
PowerModel::Table table_a2() {
    PowerModel::Table table;
    std::istringstream lines{std::string(embedded::t61_power())};
    for (std::string line; std::getline(lines, line);) {
        std::ranges::replace(line, ',', ' ');
        std::istringstream cells(line);
        std::string name;
        cells >> name;
        const std::vector<double> values{std::istream_iterator<double>(cells), {}};
        if (name == "khz") {
            std::ranges::transform(values, std::back_inserter(table.utilisations), share_of);
        } else if (!name.starts_with('#')) {
            table.frequencies.push_back(static_cast<std::uint32_t>(std::stoul(name)));
            table.watts.push_back(values);
        }
    }
    return table;
}

}  // namespace

tl::expected<PowerModel, ModelError> PowerModel::from(Table table) {
    if (ModelError wrong = wrong_with(table); !wrong.empty()) {
        return tl::unexpected(std::move(wrong));
    }
    return PowerModel(std::move(table));
}

tl::expected<PowerModel, ModelError> PowerModel::parse(const std::string& text) try {
    const Json document = Json::parse(text);
    check_fields(document);
    Table table;
    std::ranges::transform(numbers(document.at("utilisations_percent"), "utilisations_percent"),
                           std::back_inserter(table.utilisations), share_of);
    std::ranges::transform(numbers(document.at("frequencies_khz"), "frequencies_khz"),
                           std::back_inserter(table.frequencies), khz_of);
    for (const Json& row : document.at("watts")) {
        table.watts.push_back(numbers(row, "watts"));
    }
    return from(std::move(table));
} catch (const std::exception& error) {
    return tl::unexpected(error.what());
}

tl::expected<PowerModel, ModelError> PowerModel::read(const std::string& path) {
    std::ifstream file(path);
    if (!file) {
        return tl::unexpected(path + ": " + std::generic_category().message(errno));
    }
    std::string text(kMostBytes + 1, ' ');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (file) {
        return tl::unexpected(path + ": is longer than 1 MiB");
    }
    text.resize(static_cast<std::size_t>(file.gcount()));
    return parse(text).map_error([&](const ModelError& error) { return path + ": " + error; });
}

const PowerModel& PowerModel::t61() {
    static const PowerModel model = from(table_a2()).value();
    return model;
}

double PowerModel::watts(std::uint32_t khz, double utilisation) const {
    const Place row = place(table_.frequencies, khz);
    const Place column = place(table_.utilisations, utilisation);
    const double below = between(table_.watts.at(row.left), column);
    return row.share > 0.0 ? below + row.share * (between(table_.watts.at(row.left + 1), column) - below) : below;
}

}  // namespace happe::ui
