// SPDX-License-Identifier: GPL-2.0-or-later
// The power of a whole machine by its CPU's frequency and utilisation: a table, bilinear between its points.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace happe::ui {

// Why a text is not a power model: a sentence that begins with the place.
using ModelError = std::string;

class PowerModel {
public:
    struct Table {
        std::vector<double> utilisations;        // 0 to 1, strictly ascending, two at least
        std::vector<std::uint32_t> frequencies;  // kHz, strictly ascending, one at least
        std::vector<std::vector<double>> watts;  // above 0; a row for each frequency, a column for each utilisation
    };

    [[nodiscard]] static tl::expected<PowerModel, ModelError> from(Table table);
    // A document of profiles/schema/power-model.schema.json. An error names the field. Beyond the schema, refuses rows
    // of the wrong length and lists that do not ascend.
    [[nodiscard]] static tl::expected<PowerModel, ModelError> parse(const std::string& text);
    // Reads such a file, of at most 1 MiB. An error also names the file.
    [[nodiscard]] static tl::expected<PowerModel, ModelError> read(const std::string& path);
    // The study's ThinkPad T61: Table A.2, from profiles/t61-power.csv.
    [[nodiscard]] static const PowerModel& t61();

    // Uses the table's edges for points outside of it.
    [[nodiscard]] double watts(std::uint32_t khz, double utilisation) const;
    // The power at the lowest frequency and full utilisation: a game keeps its CPU busy.
    [[nodiscard]] double lowest_busy_watts() const { return table_.watts.front().back(); }

    [[nodiscard]] const Table& table() const { return table_; }

private:
    explicit PowerModel(Table table) : table_(std::move(table)) {}

    Table table_;
};

}  // namespace happe::ui
