// SPDX-License-Identifier: GPL-2.0-or-later
// Strict reading of JSON that comes from outside: nothing unknown, nothing twice, integers within bounds, and an error
// that names the field. Throws FieldError; the documents' readers turn it into a Result at their edge.
#pragma once

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

// what(): "FIELD: message", or the message alone where the text is no JSON at all. One short line, whatever the text
// holds.
class FieldError : public std::runtime_error {
public:
    explicit FieldError(const std::string& message);
    FieldError(const std::string& path, const std::string& message) : FieldError(path + ": " + message) {}
};

inline constexpr std::size_t kMaxText = std::size_t{16} << 20U;  // bytes of one document or line
inline constexpr int kMaxDepth = 16;

// RFC 8259 text without a byte order mark, in which no object has a field twice.
nlohmann::json parse(std::string_view text);

// Whether this can be a string in JSON as it is.
bool is_utf8(const std::string& text);

// A value and the way to it.
class Field {
public:
    Field(const nlohmann::json& value, std::string path) : value_(&value), path_(std::move(path)) {}

    // An object all of whose fields are among `known`.
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
    [[nodiscard]] std::string text(std::size_t most) const;  // one of at most so many
    [[nodiscard]] std::size_t one_of(std::initializer_list<std::string_view> words) const;  // its index
    [[nodiscard]] bool is_null() const { return value_->is_null(); }

    [[noreturn]] void refuse(const std::string& message) const { throw FieldError(path_, message); }

private:
    const nlohmann::json* value_;
    std::string path_;
};

}  // namespace happe::json
