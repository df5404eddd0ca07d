// SPDX-License-Identifier: GPL-2.0-or-later
#include "packaging/cli/cpp/usage_mistake.h"

#include "packaging/cli/cpp/command_tree.h"
#include "packaging/cli/cpp/near_name.h"

#include <fmt/format.h>
#include <string_view>
#include <vector>

namespace happe {
namespace {

std::string path_of(const CLI::App& command) {
    const CLI::App* const parent = command.get_parent();
    return parent == nullptr ? command.get_name() : fmt::format("{} {}", path_of(*parent), command.get_name());
}

std::string unknown(const CLI::App& command, std::string_view kind, std::string_view word,
                    const std::vector<std::string_view>& names) {
    const std::string_view near = nearest_name(word, names);
    return near.empty() ? fmt::format("unknown {} '{}'; try `{} --help`", kind, word, path_of(command))
                        : fmt::format("unknown {} '{}'; did you mean '{}'?", kind, word, near);
}

std::string unknown_option(const CLI::App& command, std::string_view word) {
    const Command tree = command_tree(command);
    std::vector<std::string_view> names;
    for (const CommandOption& option : tree.options) {
        names.insert(names.end(), option.names.begin(), option.names.end());
    }
    return unknown(command, "option", word.substr(0, word.find('=')), names);
}

std::string unknown_command(const CLI::App& command, std::string_view word) {
    const Command tree = command_tree(command);
    std::vector<std::string_view> names;
    for (const Command& sub : tree.commands) {
        names.push_back(std::string_view(sub.path).substr(sub.path.rfind(' ') + 1));
    }
    return names.empty() ? "" : unknown(command, "command", word, names);
}

// Of the first word that is neither a command nor an option of the command it was given to; empty if there is none.
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

}  // namespace

std::string usage_mistake(const CLI::App& program, const CLI::ParseError& error) {
    const std::string text = first_unknown(program);
    return text.empty() ? fmt::format("{}; try `{} --help`", error.what(), program.get_name()) : text;
}

}  // namespace happe
