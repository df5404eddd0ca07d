// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/cli/usage_mistake.h"

#include "governor/cli/near_name.h"

#include <fmt/format.h>
#include <algorithm>
#include <string_view>
#include <vector>

namespace happe {
namespace {

std::vector<const CLI::App*> subcommands(const CLI::App& command) {
    return command.get_subcommands([](const CLI::App*) { return true; });
}

// The names of a command's options, with dashes, and of its option groups', which are commands without a name. Without
// hidden ones, which are in the group "".
std::vector<std::string> option_names(const CLI::App& command) {
    std::vector<std::string> result;
    for (const CLI::Option* const option : command.get_options()) {
        if (!option->get_group().empty()) {
            const std::string names = option->get_name(false, true);  // "-o,--out"
            std::ranges::move(CLI::detail::split(names, ','), std::back_inserter(result));
        }
    }
    for (const CLI::App* const sub : subcommands(command)) {
        if (sub->get_name().empty()) {
            std::ranges::move(option_names(*sub), std::back_inserter(result));
        }
    }
    return result;
}

std::vector<std::string> command_names(const CLI::App& command) {
    std::vector<std::string> result;
    for (const CLI::App* const sub : subcommands(command)) {
        if (!sub->get_name().empty() && !sub->get_group().empty()) {
            result.push_back(sub->get_name());
        }
    }
    return result;
}

std::string path_of(const CLI::App& command) {
    const CLI::App* const parent = command.get_parent();
    return parent == nullptr ? command.get_name() : fmt::format("{} {}", path_of(*parent), command.get_name());
}

std::string unknown(const CLI::App& command, std::string_view kind, std::string_view word,
                    const std::vector<std::string>& names) {
    const std::vector<std::string_view> known(names.begin(), names.end());
    const std::string_view near = nearest_name(word, known);
    return near.empty() ? fmt::format("unknown {} '{}'; try `{} --help`", kind, word, path_of(command))
                        : fmt::format("unknown {} '{}'; did you mean '{}'?", kind, word, near);
}

std::string unknown_option(const CLI::App& command, std::string_view word) {
    return unknown(command, "option", word.substr(0, word.find('=')), option_names(command));
}

std::string unknown_command(const CLI::App& command, std::string_view word) {
    const std::vector<std::string> names = command_names(command);
    return names.empty() ? "" : unknown(command, "command", word, names);
}

// Reports the first word that is neither a command nor an option of its command; empty if there is none.
std::string first_unknown(const CLI::App& command) {
    const std::vector<std::string> words = command.remaining();
    if (!words.empty() && words.front() != "--") {
        const std::string& word = words.front();
        return word.starts_with('-') && word != "-" ? unknown_option(command, word) : unknown_command(command, word);
    }
    for (const CLI::App* const sub : command.get_subcommands()) {
        if (std::string text = first_unknown(*sub); !text.empty()) {
            return text;
        }
    }
    return "";
}

// The last command on the command line.
const CLI::App& innermost(const CLI::App& command) {
    const std::vector<CLI::App*> given = command.get_subcommands();
    return given.empty() ? command : innermost(*given.back());
}

}  // namespace

std::string usage_mistake(const CLI::App& program, const CLI::ParseError& error) {
    const std::string text = first_unknown(program);
    const std::string_view what = error.what();
    if (!text.empty() || what.ends_with('?')) {  // the message names the nearest name
        return text.empty() ? std::string(what) : text;
    }
    return fmt::format("{}; try `{} --help`", what, path_of(innermost(program)));
}

}  // namespace happe
