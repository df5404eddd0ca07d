// SPDX-License-Identifier: GPL-2.0-or-later
// Reads JSON from outside strictly: refuses unknown fields, fields given twice and numbers out of bounds. Throws
// FieldError, which names the field; each document's reader converts it into a Result.
#pragma once

#include "governor/core/governor.h"

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace happe::json {

// what(): "FIELD: message", or only the message if the text is not JSON. Always one short line.
class FieldError : public std::runtime_error {
public:
    explicit FieldError(const std::string& message);
    FieldError(const std::string& path, const std::string& message) : FieldError(path + ": " + message) {}
};

inline constexpr std::size_t kMaxText = std::size_t{16} << 20U;  // bytes of one document or line
inline constexpr int kMaxDepth = 16;

// Parses RFC 8259 text without a byte order mark. Refuses objects that have a field twice.
nlohmann::json parse(std::string_view text);

// True if this text can be a JSON string unchanged.
bool is_utf8(const std::string& text);

// A value and its path in the document.
class Field {
public:
    Field(const nlohmann::json& value, std::string path) : value_(&value), path_(std::move(path)) {}

    // Checks that this is an object and that `known` names all its fields. Returns itself.
    [[nodiscard]] const Field& object(std::initializer_list<std::string_view> known) const;
    [[nodiscard]] Field at(const char* name) const;                   // a required field
    [[nodiscard]] std::optional<Field> find(const char* name) const;  // an optional one

    [[nodiscard]] std::vector<Field> items(std::size_t least, std::size_t most) const;  // of an array
    [[nodiscard]] std::vector<std::pair<std::string, Field>> members(std::size_t least,
                                                                     std::size_t most) const;  // of an object

    [[nodiscard]] std::int64_t integer(std::int64_t least, std::int64_t most) const;
    [[nodiscard]] double number(double least, double most) const;
    [[nodiscard]] bool boolean() const;
    [[nodiscard]] std::string name() const;                  // a string of 1 to 255 bytes
    [[nodiscard]] std::string text(std::size_t most) const;  // a string of at most `most` bytes
    [[nodiscard]] std::size_t one_of(std::initializer_list<std::string_view> words) const;  // its index in `words`
    [[nodiscard]] bool is_null() const { return value_->is_null(); }

    [[noreturn]] void refuse(const std::string& message) const { throw FieldError(path_, message); }

private:
    const nlohmann::json* value_;
    std::string path_;
};

}  // namespace happe::json

namespace happe {

// Values that several of the contract's documents share.

// An array of the numbers of units: kHz, ppm.
template <typename Values>
nlohmann::ordered_json numbers(const Values& values) {
    auto array = nlohmann::ordered_json::array();
    for (const auto& unit : values) {
        array.push_back(unit.value);
    }
    return array;
}

// A lesson as in profiles/schema/run-record.schema.json, and the UAFP after it.
inline nlohmann::ordered_json lesson_json(MonoTime at, const Lesson& lesson, const Uafp& uafp) {
    nlohmann::ordered_json json = {{"t_us", at.time_since_epoch().count()}, {"key", name_of(lesson.key)},
                                   {"policy", lesson.policy.value},         {"level", lesson.level.value},
                                   {"from_khz", lesson.from.value},         {"to_khz", lesson.to.value},
                                   {"cur_khz", lesson.current.value},       {"util_ppm", lesson.utilisation.value},
                                   {"uafp_khz", numbers(uafp.values())}};
    if (lesson.probe) {
        json["probe"] = true;
    }
    return json;
}

}  // namespace happe
