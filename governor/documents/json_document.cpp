// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/documents/json_document.h"

#include "governor/documents/printable.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <set>

namespace happe::json {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

constexpr std::size_t kLongestMessage = 400;  // The parser puts the cause last, so longer messages lose their middle.

std::string in_words(const std::string& message) {
    if (message.size() <= kLongestMessage) {
        return printable(message, kLongestMessage);
    }
    std::string_view end = std::string_view(message).substr(message.size() - kLongestMessage / 2);
    while (!end.empty() && (static_cast<unsigned char>(end.front()) & 0xC0U) == 0x80U) {
        end.remove_prefix(1);  // the rest of a character
    }
    return printable(message, kLongestMessage / 2) + printable(end, end.size());
}

// A callback for the parser. Refuses deep nesting early, and fields given twice: the parser would keep the last.
class Watch {
public:
    bool operator()(int depth, nlohmann::json::parse_event_t event, const nlohmann::json& parsed) {
        using Event = nlohmann::json::parse_event_t;
        switch (event) {
            case Event::object_start:
            case Event::array_start:
                if (depth >= kMaxDepth) {
                    throw FieldError(path(), fmt::format("nested deeper than {}", kMaxDepth));
                }
                open_.push_back({.array = event == Event::array_start});
                break;
            case Event::object_end:
            case Event::array_end:
                open_.pop_back();
                count();
                break;
            case Event::key:
                enter(parsed.get<std::string>());
                break;
            case Event::value:
                count();
                break;
        }
        return true;
    }

private:
    struct Container {
        bool array = false;
        std::size_t index = 0;
        std::string field;
        std::set<std::string> fields;
    };

    void count() {
        if (!open_.empty()) {
            ++open_.back().index;
        }
    }

    void enter(const std::string& field) {
        open_.back().field = field;
        if (!open_.back().fields.insert(field).second) {
            throw FieldError(path(), "given twice");
        }
    }

    [[nodiscard]] std::string path() const {
        std::string path;
        for (const Container& container : open_) {
            if (container.array) {
                path += fmt::format("[{}]", container.index);
            } else {
                path += (path.empty() ? "" : ".") + container.field;
            }
        }
        return path;
    }

    std::vector<Container> open_;
};

// The reason in an exception's text, which is "[json.exception.parse_error.101] parse error at ...: REASON".
std::string why(const nlohmann::json::exception& error) {
    const std::string text = error.what();
    const auto end = text.find(": ");
    return end == std::string::npos ? text : text.substr(end + 2);
}

}  // namespace

FieldError::FieldError(const std::string& message) : std::runtime_error(in_words(message)) {}

nlohmann::json parse(std::string_view text) {
    if (text.size() > kMaxText) {
        throw FieldError(fmt::format("longer than {} bytes", kMaxText));
    }
    if (text.starts_with(kByteOrderMark)) {
        throw FieldError("not JSON: begins with a byte order mark; save the file as UTF-8 without one");
    }
    if (text.find('\0') != std::string_view::npos) {
        throw FieldError("not JSON: holds a NUL byte");  // the parser would stop there without an error
    }
    try {
        return nlohmann::json::parse(text, Watch());
    } catch (const nlohmann::json::parse_error& error) {
        throw FieldError(fmt::format("not JSON at byte {}: {}", error.byte, why(error)));
    } catch (const nlohmann::json::exception& error) {
        throw FieldError("unreadable JSON: " + why(error));
    }
}

bool is_utf8(const std::string& text) try {
    return !nlohmann::json(text).dump().empty();
} catch (const nlohmann::json::type_error&) {
    return false;
}

const Field& Field::object(std::initializer_list<std::string_view> known) const {
    if (!value_->is_object()) {
        refuse("must be an object");
    }
    for (const auto& [key, value] : value_->items()) {
        if (std::ranges::find(known, std::string_view(key)) == known.end()) {
            throw FieldError(path_.empty() ? key : path_ + "." + key,
                             fmt::format("unknown field; known are {}", fmt::join(known, ", ")));
        }
    }
    return *this;
}

std::optional<Field> Field::find(const char* name) const {
    const auto found = value_->find(name);
    if (found == value_->end()) {
        return std::nullopt;
    }
    return Field(*found, path_.empty() ? name : path_ + "." + name);
}

Field Field::at(const char* name) const {
    const auto found = find(name);
    if (!found) {
        throw FieldError(path_.empty() ? name : path_ + "." + name, "missing");
    }
    return *found;
}

std::vector<Field> Field::items(std::size_t least, std::size_t most) const {
    if (!value_->is_array()) {
        refuse("must be an array");
    }
    if (value_->size() < least || value_->size() > most) {
        refuse(fmt::format("must have {} to {} elements, has {}", least, most, value_->size()));
    }
    std::vector<Field> result;
    result.reserve(value_->size());
    for (std::size_t index = 0; index < value_->size(); ++index) {
        result.emplace_back((*value_)[index], fmt::format("{}[{}]", path_, index));
    }
    return result;
}

std::vector<std::pair<std::string, Field>> Field::members(std::size_t least, std::size_t most) const {
    if (!value_->is_object()) {
        refuse("must be an object");
    }
    if (value_->size() < least || value_->size() > most) {
        refuse(fmt::format("must have {} to {} fields, has {}", least, most, value_->size()));
    }
    std::vector<std::pair<std::string, Field>> result;
    for (const auto& [key, value] : value_->items()) {
        result.emplace_back(key, Field(value, path_ + "." + key));
    }
    return result;
}

std::int64_t Field::integer(std::int64_t least, std::int64_t most) const {
    if (!value_->is_number_integer()) {
        refuse("must be an integer");
    }
    const bool too_large =
        value_->is_number_unsigned() && value_->get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX);
    if (too_large || value_->get<std::int64_t>() < least || value_->get<std::int64_t>() > most) {
        refuse(fmt::format("must be {} to {}, is {}", least, most, value_->dump()));
    }
    return value_->get<std::int64_t>();
}

double Field::number(double least, double most) const {
    if (!value_->is_number()) {
        refuse("must be a number");
    }
    const auto value = value_->get<double>();
    if (value < least || value > most) {
        refuse(fmt::format("must be {} to {}, is {}", least, most, value));
    }
    return value;
}

bool Field::boolean() const {
    if (!value_->is_boolean()) {
        refuse("must be true or false");
    }
    return value_->get<bool>();
}

std::string Field::name() const {
    constexpr std::size_t kLongest = 255;
    const std::string* const text = value_->get_ptr<const std::string*>();
    if (text != nullptr && (text->empty() || text->size() > kLongest)) {
        refuse(fmt::format("must have 1 to {} bytes, has {}", kLongest, text->size()));
    }
    return this->text(kLongest);
}

std::string Field::text(std::size_t most) const {
    const std::string* const text = value_->get_ptr<const std::string*>();
    if (text == nullptr) {
        refuse("must be a string");
    }
    if (text->size() > most) {
        refuse(fmt::format("must have at most {} bytes, has {}", most, text->size()));
    }
    return *text;
}

std::size_t Field::one_of(std::initializer_list<std::string_view> words) const {
    const auto* const found =
        value_->is_string() ? std::ranges::find(words, value_->get_ref<const std::string&>()) : words.end();
    if (found == words.end()) {
        refuse(fmt::format("must be one of \"{}\"", fmt::join(words, "\", \"")));
    }
    return static_cast<std::size_t>(found - words.begin());
}

}  // namespace happe::json
