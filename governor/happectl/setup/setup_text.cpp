// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happectl/setup/setup_text.h"

#include "governor/happectl/text.h"
#include "governor/keys/key_binding.h"

#include <fmt/ranges.h>
#include <algorithm>
#include <charconv>
#include <climits>
#include <iterator>
#include <optional>
#include <sstream>

namespace happe::ctl {

const std::array<KeyPair, 6> kLikelyKeys{{
    {"KEY_PROG1", "KEY_PROG2"},
    {"KEY_PROG3", "KEY_PROG4"},
    {"KEY_NEXTSONG", "KEY_PREVIOUSSONG"},
    {"KEY_F14", "KEY_F13"},
    {"KEY_PAUSE", "KEY_SCROLLLOCK"},
    {"CTRL+META+KEY_UP", "CTRL+META+KEY_DOWN"},
}};

namespace {

using Lines = std::vector<std::string>;

// The kernel's "402000000 3803078f800d001": words in hexadecimal, the highest first, each of a long's bits.
bool is_set(const std::string& bitmap, std::size_t bit) {
    constexpr std::size_t kBits = sizeof(unsigned long) * CHAR_BIT;
    std::istringstream stream(bitmap);
    Lines words;
    for (std::string word; stream >> word;) {
        words.push_back(word);
    }
    if (bit / kBits >= words.size()) {
        return false;
    }
    const std::string& word = words[words.size() - 1 - bit / kBits];
    unsigned long bits = 0;
    std::from_chars(word.data(), word.data() + word.size(), bits, 16);
    return ((bits >> (bit % kBits)) & 1U) != 0;
}

std::string_view without_spaces(std::string_view line) {
    const auto start = line.find_first_not_of(" \t");
    return start == std::string_view::npos ? std::string_view() : line.substr(start);
}

// True if the line sets the option, or if wanted, shows it behind a #.
bool is_of(std::string_view line, std::string_view option, bool behind_hash) {
    std::string_view rest = without_spaces(line);
    if (rest.starts_with('#') != behind_hash) {
        return false;
    }
    rest.remove_prefix(behind_hash ? 1 : 0);
    return rest.starts_with(option) && without_spaces(rest.substr(option.size())).starts_with('=');
}

bool is_head(std::string_view line) {
    return without_spaces(line).starts_with('[');
}

// The lines of a table, from after its head to the next head. The first table has no head.
struct Table {
    std::size_t first = 0;
    std::size_t end = 0;
};

std::optional<Table> find_table(const Lines& lines, std::string_view name) {
    std::size_t first = 0;
    if (!name.empty()) {
        const auto head = std::ranges::find_if(lines, [&](const std::string& line) {
            return without_spaces(line).starts_with(fmt::format("[{}]", name));
        });
        if (head == lines.end()) {
            return std::nullopt;
        }
        first = static_cast<std::size_t>(head - lines.begin()) + 1;
    }
    const auto next = std::find_if(lines.begin() + static_cast<std::ptrdiff_t>(first), lines.end(), is_head);
    return Table{first, static_cast<std::size_t>(next - lines.begin())};
}

// The comment behind the quoted value that a line sets an option to, with the spaces before it.
std::string_view comment_of(std::string_view line) {
    const std::string_view value = without_spaces(line.substr(line.find('=') + 1));
    const auto end = value.empty() ? std::string_view::npos : value.find(value.front(), 1);
    const std::string_view rest = end == std::string_view::npos ? std::string_view() : value.substr(end + 1);
    return without_spaces(rest).starts_with('#') ? rest : std::string_view();
}

// The option's table, empty if it is the first one, which has no head; and the option's name there.
std::pair<std::string_view, std::string_view> place_of(std::string_view option) {
    const auto dot = option.find('.');
    return dot == std::string_view::npos ? std::pair(std::string_view(), option)
                                         : std::pair(option.substr(0, dot), option.substr(dot + 1));
}

void set_option(Lines& lines, const Choice& choice) {
    const auto [head, option] = place_of(choice.option);
    const std::string line = fmt::format("{} = {}", option, in_toml(choice.value));
    auto table = find_table(lines, head);
    if (!table) {
        lines.insert(lines.end(), {"", fmt::format("[{}]", head)});
        table = Table{lines.size(), lines.size()};
    }
    for (const bool behind_hash : {false, true}) {
        for (std::size_t i = table->first; i < table->end; ++i) {
            if (is_of(lines[i], option, behind_hash)) {
                lines[i] = line + std::string(behind_hash ? "" : comment_of(lines[i]));
                return;
            }
        }
    }
    std::size_t place = table->end;
    while (place > table->first && without_spaces(lines[place - 1]).empty()) {
        --place;
    }
    lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(place), line);
}

std::string by_hand(const Choices& choices) {
    Lines lines;
    std::ranges::transform(choices, std::back_inserter(lines), [](const Choice& choice) {
        return fmt::format("{} = {}", choice.option, in_toml(choice.value));
    });
    return fmt::format("{}", fmt::join(lines, ", "));
}

// The words with their quotes: GVariant writes 'a', or "a" if a has a '.
Lines quoted_words(std::string_view list) {
    Lines words;
    for (std::size_t start = 0; (start = list.find_first_of("'\"", start)) != std::string_view::npos;) {
        std::size_t end = start + 1;
        while (end < list.size() && list[end] != list[start]) {
            end += list[end] == '\\' ? 2 : 1;
        }
        words.emplace_back(list.substr(start, end + 1 - start));
        start = std::min(end + 1, list.size());
    }
    return words;
}

}  // namespace

bool has_keys(std::string_view devices, const KeyPair& keys) {
    const auto bindings = parse_key_bindings(keys.performance, keys.power);
    return bindings && std::ranges::any_of(lines_of(devices), [&](const std::string& line) {
               constexpr std::string_view kKeys = "B: KEY=";
               return line.starts_with(kKeys) && is_set(line.substr(kKeys.size()), bindings->performance.code) &&
                      is_set(line.substr(kKeys.size()), bindings->power.code);
           });
}

Choices choices_of(const KeyPair& keys) {
    return {{"keys.performance", keys.performance}, {"keys.power", keys.power}};
}

Choices choices_of(const Decided& decided) {
    return {{"mode", decided.observe ? "observe" : "govern"},
            {"keys.performance", decided.keys.performance},
            {"keys.power", decided.keys.power}};
}

Outcome<std::string> with_choices(const std::string& text, const Choices& choices, const std::string& name) {
    const auto before = read_configuration(text, name);
    if (!before) {
        return trouble(EX_DATAERR, before.error().message);
    }
    Configuration aim = *before;
    for (const auto& [option, value] : choices) {
        std::ranges::find(configuration_options(), option, &ConfigurationOption::name)->set(aim, value);
    }
    if (*before == aim) {
        return text;
    }
    Lines lines = lines_of(text);
    for (const Choice& choice : choices) {
        set_option(lines, choice);
    }
    std::string after = fmt::format("{}\n", fmt::join(lines, "\n"));
    const auto read = read_configuration(after, name);
    if (!read || *read != aim) {
        return trouble(EX_DATAERR, fmt::format("{}: is written in a way that happectl cannot change; change it by hand "
                                               "to {}",
                                               name, by_hand(choices)));
    }
    return after;
}

bool has_word(std::string_view list, std::string_view word) {
    const Lines words = quoted_words(list);
    return std::ranges::find(words, fmt::format("'{}'", word)) != words.end();
}

std::string with_word(std::string_view list, std::string_view word, bool wanted) {
    const std::string quoted = fmt::format("'{}'", word);
    Lines words = quoted_words(list);
    std::erase(words, quoted);
    if (wanted) {
        words.push_back(quoted);
    }
    return fmt::format("[{}]", fmt::join(words, ", "));
}

}  // namespace happe::ctl
