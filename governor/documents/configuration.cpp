// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/documents/configuration.h"

#include "governor/cli/near_name.h"
#include "governor/documents/json_document.h"
#include "governor/documents/printable.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace happe {
namespace {

constexpr std::size_t kLongestFile = std::size_t{64} << 10U;
constexpr std::size_t kLongestKey = 64;
constexpr std::size_t kMostMistakes = 20;
constexpr std::size_t kLongestQuoted = 100;

// toml++ limits the depth of nested values, but not of tables that dotted keys nest, and destroys these recursively.
constexpr std::ptrdiff_t kMostDots = 1000;

// The key as written in a file: `"keys.performance"` in quotes is another key than `keys.performance`.
std::string written(std::string_view key) {
    const bool bare = !key.empty() && std::ranges::all_of(key, [](char c) {
        return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    });
    return bare ? printable(key, kLongestQuoted) : fmt::format("\"{}\"", printable(key, kLongestQuoted));
}

// By toml::node_type.
constexpr std::array kKinds{
    "nothing",       "a table",        "an array",       "a string",      "a number", "a number with a point",
    "true or false", "a date or time", "a date or time", "a date or time"};

// A wrong value in an error message.
std::string shown(const toml::node& node) {
    if (const auto* const number = node.as_integer()) {
        return std::to_string(number->get());
    }
    if (const auto* const text = node.as_string()) {
        return fmt::format("\"{}\"", printable(text->get(), kLongestQuoted));
    }
    return kKinds.at(static_cast<std::size_t>(node.type()));
}

Result<Khz> frequency(std::int64_t khz) {
    if (khz < 1 || khz > kHighestKhz.value) {
        return failure(fmt::format("must be 1 to {} kHz, is {}", kHighestKhz.value, khz));
    }
    return Khz{static_cast<std::uint32_t>(khz)};
}

// Reads the listed frequency that is the key of a line.
Result<Khz> listed_frequency(std::string_view key) {
    std::int64_t khz = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), khz);
    if (error != std::errc() || end != key.data() + key.size() || key.starts_with('0')) {
        return failure(fmt::format("must be a frequency in kHz, 1 to {}", kHighestKhz.value));
    }
    return frequency(khz);
}

Result<Khz> real_frequency(const toml::node& node) {
    const auto* const khz = node.as_integer();
    return khz != nullptr ? frequency(khz->get())
                          : failure(fmt::format("must be a frequency in kHz, is {}", shown(node)));
}

struct Mistake {
    std::size_t line;
    std::string message;
    auto operator<=>(const Mistake&) const = default;
};

// Reads the value of an option, and checks its type and limits.
class ReadValue {
public:
    using Read = tl::expected<OptionValue, Mistake>;

    ReadValue(std::string_view name, std::size_t line, const toml::node& node, const KeyCheck& can_be_bound)
        : name_(name), line_(line), node_(node), can_be_bound_(can_be_bound) {}

    Read operator()(const AcceptsBool& accepts) const {
        const auto* const flag = node_.as_boolean();
        return flag != nullptr ? Read(flag->get()) : refuse(accepts);
    }
    Read operator()(const AcceptsNumber& accepts) const {
        const auto* const number = node_.as_integer();
        const bool good = number != nullptr && number->get() >= accepts.least && number->get() <= accepts.most;
        return good ? Read(static_cast<std::uint32_t>(number->get())) : refuse(accepts);
    }
    Read operator()(const AcceptsWord& accepts) const {
        const auto* const text = node_.as_string();
        const bool known = text != nullptr && std::ranges::find(accepts.words, text->get()) != accepts.words.end();
        return known ? Read(text->get()) : refuse(accepts);
    }
    Read operator()(const AcceptsKey& accepts) const {
        const auto* const text = node_.as_string();
        if (text == nullptr || text->get().empty() || text->get().size() > kLongestKey ||
            !std::ranges::all_of(text->get(), [](char c) { return c >= ' ' && c <= '~'; })) {
            return refuse(accepts);
        }
        const Status good = can_be_bound_ ? can_be_bound_(text->get()) : Status();
        return good ? Read(text->get()) : wrong(line_, name_, good.error().message);
    }
    Read operator()(const AcceptsCalibration& accepts) const {
        const auto* const table = node_.as_table();
        if (table == nullptr) {
            return refuse(accepts);
        }
        if (table->size() > Ladder::kMaxSteps) {
            return wrong(line_, name_, fmt::format("must be {}, has {}", in_words(accepts), table->size()));
        }
        return calibration(*table);
    }

private:
    static tl::unexpected<Mistake> wrong(std::size_t line, std::string_view name, std::string_view message) {
        return tl::unexpected<Mistake>(Mistake{line, fmt::format("{}: {}", name, message)});
    }

    [[nodiscard]] tl::unexpected<Mistake> refuse(const Accepts& accepts) const {
        return wrong(line_, name_, fmt::format("must be {}, is {}", in_words(accepts), shown(node_)));
    }

    [[nodiscard]] Read calibration(const toml::table& table) const {
        Calibration result;
        std::map<Khz, std::size_t> lines;
        for (const auto& [key, value] : table) {
            const auto listed = listed_frequency(key.str());
            const auto real = real_frequency(value);
            const std::size_t line = key.source().begin.line;
            if (!listed || !real) {
                return wrong(line, fmt::format("{}.{}", name_, written(key.str())),
                             (listed ? real : listed).error().message);
            }
            result.emplace(*listed, *real);
            lines.emplace(*listed, line);
        }
        for (auto above = result.begin(), entry = above; entry != result.end(); entry = above) {
            if (++above != result.end() && above->second <= entry->second) {
                return wrong(lines.at(above->first), fmt::format("{}.{}", name_, above->first.value),
                             fmt::format("must be above {}, the speed of {}", entry->second.value, entry->first.value));
            }
        }
        return result;
    }

    std::string_view name_;
    std::size_t line_;
    const toml::node& node_;
    const KeyCheck& can_be_bound_;
};

const ConfigurationOption* find_option(std::string_view name) {
    const auto options = configuration_options();
    const auto found = std::ranges::find(options, name, &ConfigurationOption::name);
    return found != options.end() ? &*found : nullptr;
}

bool is_section(std::string_view name) {
    return std::ranges::any_of(configuration_options(), [name](const ConfigurationOption& option) {
        return option.name.starts_with(name) && option.name.substr(name.size()).starts_with('.');
    });
}

// Advice for a name that is not an option or section. Finds an option outside of its section by its last part.
std::string advice(std::string_view name) {
    std::vector<std::string_view> names;
    for (const ConfigurationOption& option : configuration_options()) {
        const auto dot = option.name.rfind('.');
        if (dot != std::string_view::npos && option.name.substr(dot + 1) == name.substr(name.rfind('.') + 1)) {
            return fmt::format("unknown; did you mean {}?", option.name);
        }
        names.push_back(option.name);
        names.push_back(option.name.substr(0, option.name.find('.')));
    }
    const std::string_view near = nearest_name(name, names);
    return near.empty() ? "unknown" : fmt::format("unknown; did you mean {}?", near);
}

class Reader {
public:
    Reader(std::string_view file, const KeyCheck& can_be_bound) : file_(file), can_be_bound_(can_be_bound) {}

    Result<Configuration> read(const toml::table& file) {
        read_table(file, "");
        if (mistakes_.empty()) {
            check_together();
        }
        if (!mistakes_.empty()) {
            return failure(report());
        }
        return std::move(configuration_);
    }

private:
    void read_table(const toml::table& table, const std::string& prefix) {
        for (const auto& [key, node] : table) {
            const std::string name = prefix + written(key.str());
            const std::size_t line = key.source().begin.line;
            if (const ConfigurationOption* const option = find_option(name)) {
                read_option(*option, node, line);
            } else if (!is_section(name)) {
                mistakes_.push_back({line, fmt::format("{}: {}", name, advice(name))});
            } else if (const auto* const section = node.as_table()) {
                read_table(*section, name + '.');
            } else {
                mistakes_.push_back({line, fmt::format("{}: must be a table, is {}", name, shown(node))});
            }
        }
    }

    void read_option(const ConfigurationOption& option, const toml::node& node, std::size_t line) {
        const auto value = std::visit(ReadValue(option.name, line, node, can_be_bound_), option.accepts);
        if (!value) {
            mistakes_.push_back(value.error());
            return;
        }
        option.set(configuration_, *value);
        lines_.emplace(option.name, line);
    }

    // Finds options that are valid alone but not together with others.
    void check_together() {
        for (const auto& [name, line] : lines_) {
            if (find_option(name)->extended && !configuration_.algorithm.extended) {
                mistakes_.push_back({line, fmt::format("{}: only with algorithm.mode = \"extended\"", name)});
            }
        }
        if (configuration_.performance_key == configuration_.power_key) {
            const auto given =
                lines_.contains("keys.power") ? lines_.find("keys.power") : lines_.find("keys.performance");
            mistakes_.push_back(
                {given->second, fmt::format("{}: both keys are \"{}\"", given->first, configuration_.power_key)});
        }
    }

    [[nodiscard]] std::string report() {
        std::ranges::sort(mistakes_);
        std::vector<std::string> lines;
        for (const auto& [line, message] : mistakes_) {
            if (lines.size() == kMostMistakes) {
                lines.push_back(fmt::format("{}: and {} more mistakes", file_, mistakes_.size() - kMostMistakes));
                break;
            }
            lines.push_back(fmt::format("{}:{}: {}", file_, line, message));
        }
        return fmt::format("{}", fmt::join(lines, "\n"));
    }

    std::string_view file_;
    const KeyCheck& can_be_bound_;
    Configuration configuration_;
    std::map<std::string_view, std::size_t> lines_;  // for the given options
    std::vector<Mistake> mistakes_;
};

// toml++ also finds bytes that are not UTF-8, but reports the wrong line: the first of its buffer.
std::optional<std::size_t> line_not_utf8(std::string_view text) {
    for (std::size_t line = 1; !text.empty(); ++line) {
        const std::size_t end = std::min(text.find('\n'), text.size() - 1);
        if (!json::is_utf8(std::string(text.substr(0, end + 1)))) {
            return line;
        }
        text.remove_prefix(end + 1);
    }
    return std::nullopt;
}

}  // namespace

Result<Configuration> read_configuration(std::string_view text, std::string_view name,
                                         const KeyCheck& can_be_bound) try {
    if (text.size() > kLongestFile) {
        return failure(fmt::format("{}:1: longer than {} bytes", name, kLongestFile));
    }
    if (std::ranges::count(text, '.') > kMostDots) {
        return failure(fmt::format("{}:1: more than {} dots", name, kMostDots));
    }
    if (const auto line = line_not_utf8(text)) {
        return failure(fmt::format("{}:{}: not UTF-8", name, *line));
    }
    return Reader(name, can_be_bound).read(toml::parse(text));
} catch (const toml::parse_error& error) {
    return failure(fmt::format("{}:{}: not TOML: {}", name, error.source().begin.line,
                               printable(error.description(), kLongestQuoted)));
}

}  // namespace happe
