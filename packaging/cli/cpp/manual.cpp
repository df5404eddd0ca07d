// SPDX-License-Identifier: GPL-2.0-or-later
#include "packaging/cli/cpp/manual.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <bit>
#include <cctype>
#include <optional>
#include <utility>

namespace happe {
namespace {

// The bytes of the UTF-8 character that begins with this one.
int length_of(unsigned char first) {
    return std::max(1, std::countl_one(first));
}

std::string beyond_ascii(std::string_view character) {
    constexpr unsigned kSixBits = 0x3F;
    const auto bits_of_first = 0x7FU >> character.size();
    unsigned code = static_cast<unsigned char>(character[0]) & bits_of_first;
    for (const char byte : character.substr(1)) {
        if ((static_cast<unsigned char>(byte) & ~kSixBits) != 0x80U) {
            return "?";
        }
        code = (code << 6U) | (static_cast<unsigned char>(byte) & kSixBits);
    }
    return character.size() == 1 ? "?" : fmt::format("\\[u{:04X}]", code);
}

// Characters that troff would print as others.
std::string_view spelled(char c) {
    switch (c) {
        case '\\':
            return "\\(rs";
        case '-':
            return "\\-";
        case '\'':
            return "\\(aq";
        case '"':
            return "\\(dq";
        case '`':
            return "\\(ga";
        case '^':
            return "\\(ha";
        case '~':
            return "\\(ti";
        default:
            return {};
    }
}

std::string upper(std::string_view text) {
    std::string result(text);
    std::ranges::transform(result, result.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return result;
}

// Takes a line off the text's front.
std::string_view take_line(std::string_view& text) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return line;
}

// The heading of a paragraph that has one.
std::optional<std::string_view> heading(std::string_view line) {
    constexpr std::size_t kLongest = 24;
    const auto colon = line.find(':');
    if (colon > kLongest || line.substr(colon + 1).find_first_not_of(' ') == 0) {
        return std::nullopt;
    }
    const std::string_view words = line.substr(0, colon);
    const bool plain = std::ranges::all_of(words, [](char c) { return c == ' ' || std::isalpha(c) != 0; });
    return plain && !words.empty() && std::isupper(words.front()) != 0 ? std::optional(words) : std::nullopt;
}

struct Section {
    std::string title;
    std::string text;
};

// The first has no title and may be empty.
std::vector<Section> sections(std::string_view text) {
    std::vector<Section> result(1);
    for (bool begins = true; !text.empty();) {
        std::string_view line = take_line(text);
        if (const auto title = begins ? heading(line) : std::nullopt) {
            result.push_back({upper(*title), ""});
            line.remove_prefix(std::min(title->size() + 2, line.size()));
        }
        begins = line.empty() && !text.starts_with(' ');
        result.back().text += line.empty() && result.back().text.empty() ? "" : fmt::format("{}\n", line);
    }
    return result;
}

bool is_help(const CommandOption& option) {
    return std::ranges::find(option.names, "--help") != option.names.end();
}

std::string synopsis(const Command& command, bool is_program) {
    std::string line = bold(command.path);
    const bool options = !std::ranges::all_of(command.options, is_help);
    if (options && (!is_program || command.commands.empty())) {
        line += fmt::format(" [{}]", italic("OPTION") + " ...");
    }
    for (const CommandOption& argument : command.arguments) {
        const std::string name = italic(argument.value) + (argument.repeated ? " ..." : "");
        line += argument.required ? " " + name : fmt::format(" [{}]", name);
    }
    return line;
}

void add_synopses(const Command& command, bool is_program, ManualPage& page) {
    if (command.runs) {
        page.line(synopsis(command, is_program));
        page.line(".br");
    }
    for (const Command& sub : command.commands) {
        add_synopses(sub, false, page);
    }
}

std::string value_of(const CommandOption& option) {
    return option.choices.empty() ? italic(option.value) : bold(fmt::format("{}", fmt::join(option.choices, "|")));
}

std::string term(const CommandOption& option) {
    std::vector<std::string> names;
    std::ranges::transform(option.names, std::back_inserter(names), bold);
    const std::string value = option.value.empty() ? "" : (names.empty() ? "" : " ") + value_of(option);
    return fmt::format("{}{}", fmt::join(names, ", "), value);
}

void add_options(const Command& command, bool is_program, ManualPage& page) {
    for (const auto* const options : {&command.arguments, &command.options}) {
        for (const CommandOption& option : *options) {
            if (is_help(option) && !is_program) {
                continue;
            }
            std::string text = option.description;
            text += option.limits.empty() ? "" : fmt::format(" ({})", option.limits);
            text += option.default_value.empty() ? "" : fmt::format(" [{}]", option.default_value);
            page.item(term(option), text);
        }
    }
}

void add_commands(const Command& parent, ManualPage& page) {
    for (const Command& command : parent.commands) {
        page.subsection(command.path);
        page.text(command.description);
        add_options(command, false, page);
        if (!command.footer.empty()) {
            page.line(".PP");
            page.text(command.footer);
        }
        add_commands(command, page);
    }
}

// "happe-sim - Summary." as a page's NAME has it.
std::string name_line(const Command& program) {
    std::string summary = program.summary();
    const std::string begin = program.path + " - ";
    summary.erase(0, summary.starts_with(begin) ? begin.size() : 0);
    summary.erase(summary.ends_with('.') ? summary.size() - 1 : summary.size());
    return fmt::format("{} \\- {}", troff(program.path), troff(summary));
}

}  // namespace

std::string troff(std::string_view text) {
    std::string result;
    while (!text.empty()) {
        const auto whole = static_cast<std::size_t>(length_of(static_cast<unsigned char>(text.front())));
        const std::size_t length = whole <= text.size() ? whole : 1;
        const std::string_view spelling = spelled(text.front());
        if (!spelling.empty()) {
            result += spelling;
        } else {
            const bool ascii = static_cast<unsigned char>(text.front()) < 0x80;
            result += ascii ? std::string(text.substr(0, 1)) : beyond_ascii(text.substr(0, length));
        }
        text.remove_prefix(length);
    }
    return result;
}

std::string bold(std::string_view text) {
    return fmt::format("\\fB{}\\fR", troff(text));
}

std::string italic(std::string_view text) {
    return fmt::format("\\fI{}\\fR", troff(text));
}

ManualPage::ManualPage(std::string_view name, int section, std::string_view version)
    : page_(fmt::format(".TH \"{}\" {} \"\" \"HAPPE {}\"\n", troff(upper(name)), section, troff(version))) {}

void ManualPage::section(std::string_view title) {
    page_ += fmt::format(".SH \"{}\"\n", troff(title));
}

void ManualPage::subsection(std::string_view title) {
    page_ += fmt::format(".SS \"{}\"\n", troff(title));
}

void ManualPage::line(std::string_view troff) {
    page_ += fmt::format("{}\n", troff);
}

// Blocks of lines of one kind: filled, or indented; `between`: an empty line stands before the block.
void ManualPage::text(std::string_view text) {
    bool between = false;
    while (!text.empty()) {
        if (text.starts_with('\n')) {
            between = true;
            text.remove_prefix(1);
            continue;
        }
        page_ += std::exchange(between, false) ? ".PP\n" : "";
        const bool example = text.starts_with("  ");
        page_ += example ? ".RS 4\n.EX\n" : "";
        while (!text.empty() && text.front() != '\n' && text.starts_with("  ") == example) {
            add_line(take_line(text).substr(example ? 2 : 0));
        }
        page_ += example ? ".EE\n.RE\n" : "";
    }
}

void ManualPage::item(std::string_view term, std::string_view text) {
    page_ += fmt::format(".TP\n{}\n", term);
    while (!text.empty()) {
        add_line(take_line(text));
    }
}

// A line that begins with a dot would be a request.
void ManualPage::add_line(std::string_view text) {
    page_ += fmt::format("{}{}\n", text.starts_with('.') ? "\\&" : "", troff(text));
}

std::string manual_page(const Command& program, const About& about) {
    ManualPage page(program.path, about.section, about.version);
    page.section("NAME");
    page.line(name_line(program));
    page.section("SYNOPSIS");
    add_synopses(program, true, page);
    const auto rest = sections(fmt::format("{}\n\n{}", program.footer, about.more));
    page.section("DESCRIPTION");
    const std::string_view description(program.description);
    page.text(description.substr(std::min(program.summary().size() + 2, description.size())));
    if (!rest.front().text.empty()) {
        page.line(".PP");
        page.text(rest.front().text);
    }
    page.section("OPTIONS");
    add_options(program, true, page);
    if (!program.commands.empty()) {
        page.section("COMMANDS");
        add_commands(program, page);
    }
    for (auto section = rest.begin() + 1; section != rest.end(); ++section) {
        page.section(section->title);
        page.text(section->text);
    }
    return page.written();
}

}  // namespace happe
