// SPDX-License-Identifier: GPL-2.0-or-later
#include "packaging/cli/cpp/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <functional>
#include <string_view>
#include <vector>
#include "packaging/cli/cpp/embedded.h"

namespace happe {
namespace {

// A function's name of a program's or command's path.
std::string function_of(std::string_view path) {
    std::string name = "_" + std::string(path);
    std::ranges::replace_if(name, [](char c) { return c == ' ' || c == '-'; }, '_');
    return name;
}

// One word for a shell, whatever it holds.
std::string shell_quoted(std::string_view text) {
    std::string result = "'";
    for (const char c : text) {
        result += c == '\'' ? "'\\''" : std::string(1, c);
    }
    return result + "'";
}

void each_command(const Command& command, const std::function<void(const Command&)>& visit) {
    visit(command);
    for (const Command& sub : command.commands) {
        each_command(sub, visit);
    }
}

std::string alternatives(const std::vector<std::string>& words) {
    std::vector<std::string> quoted_words;
    std::ranges::transform(words, std::back_inserter(quoted_words), shell_quoted);
    return fmt::format("{}", fmt::join(quoted_words, " | "));
}

// "PATH OPTION" of each option with a value for which `wanted` holds.
std::vector<std::string> taking(const Command& program, const std::function<bool(const CommandOption&)>& wanted) {
    std::vector<std::string> result;
    each_command(program, [&](const Command& command) {
        for (const CommandOption& option : command.options) {
            for (const std::string& name : option.names) {
                if (!option.value.empty() && wanted(option)) {
                    result.push_back(fmt::format("{} {}", command.path, name));
                }
            }
        }
    });
    return result;
}

std::string bash_case(const std::vector<std::string>& words, std::string_view action) {
    return words.empty() ? "" : fmt::format("        {}) {} ;;\n", alternatives(words), action);
}

// What follows an option with a value.
std::string bash_values(const Command& program) {
    std::string result = bash_case(taking(program, &CommandOption::takes_file), "kind=file");
    result += bash_case(taking(program, &CommandOption::takes_folder), "kind=directory");
    each_command(program, [&result](const Command& command) {
        for (const CommandOption& option : command.options) {
            if (!option.choices.empty()) {
                const auto words = shell_quoted(fmt::format("{}", fmt::join(option.choices, " ")));
                result += bash_case(taking({.path = command.path, .options = {option}}, [](auto&) { return true; }),
                                    fmt::format("kind=word words={}", words));
            }
        }
    });
    const auto any = [](const CommandOption& option) {
        return !option.takes_file && !option.takes_folder && option.choices.empty();
    };
    return result + bash_case(taking(program, any), "return");
}

// What kind of words a command's arguments are: those listed, files or folders.
std::string_view bash_kind(const Command& command) {
    if (std::ranges::any_of(command.arguments, &CommandOption::takes_file)) {
        return "file";
    }
    return std::ranges::any_of(command.arguments, &CommandOption::takes_folder) ? "directory" : "word";
}

// What else a command takes.
std::string bash_words(const Command& program) {
    std::string result;
    each_command(program, [&result](const Command& command) {
        std::vector<std::string> words;
        std::vector<std::string> options;
        std::ranges::transform(command.commands, std::back_inserter(words), &Command::name);
        for (const CommandOption& argument : command.arguments) {
            words.insert(words.end(), argument.choices.begin(), argument.choices.end());
        }
        for (const CommandOption& option : command.options) {
            options.insert(options.end(), option.names.begin(), option.names.end());
        }
        result += bash_case({command.path}, fmt::format("kind={} words={} options={}", bash_kind(command),
                                                        shell_quoted(fmt::format("{}", fmt::join(words, " "))),
                                                        shell_quoted(fmt::format("{}", fmt::join(options, " ")))));
    });
    return result;
}

// What a zsh specification puts between colons and brackets.
std::string zsh_text(std::string_view text) {
    std::string result;
    for (const char c : text) {
        if (c == ':' || c == '[' || c == ']' || c == '\\') {
            result += '\\';
        }
        result += c == '\n' ? ' ' : c;
    }
    return result;
}

std::string zsh_action(const CommandOption& option) {
    if (option.takes_file) {
        return "_files";
    }
    if (option.takes_folder) {
        return "_files -/";
    }
    return option.choices.empty() ? " " : fmt::format("({})", fmt::join(option.choices, " "));
}

// Which options the option excludes; `*`: none, it may be given again.
std::string zsh_exclusion(const CommandOption& option) {
    if (option.repeated) {
        return "*";
    }
    const bool alone =
        std::ranges::any_of(option.names, [](auto& name) { return name == "--help" || name == "--version"; });
    return alone ? "(- *)" : fmt::format("({})", fmt::join(option.names, " "));
}

std::string zsh_value(const CommandOption& option) {
    return option.value.empty() ? "" : fmt::format(":{}:{}", zsh_text(option.value), zsh_action(option));
}

// Between an option and its value.
std::string_view zsh_equals(const CommandOption& option, const std::string& name) {
    if (option.value.empty()) {
        return "";
    }
    return name.starts_with("--") ? "=" : "+";
}

void add_zsh_options(const Command& command, std::vector<std::string>& specifications) {
    for (const CommandOption& option : command.options) {
        for (const std::string& name : option.names) {
            specifications.push_back(
                shell_quoted(fmt::format("{}{}{}[{}]{}", zsh_exclusion(option), name, zsh_equals(option, name),
                                         zsh_text(option.description), zsh_value(option))));
        }
    }
}

void add_zsh_arguments(const Command& command, std::vector<std::string>& specifications) {
    for (const CommandOption& argument : command.arguments) {
        specifications.push_back(shell_quoted(
            fmt::format("{}:{}:{}", argument.repeated ? "*" : "", zsh_text(argument.value), zsh_action(argument))));
    }
}

// A command's own commands: the first word is one of them, the rest is for it.
std::string zsh_commands(const Command& command) {
    std::string text = "    case $state in\n    command)\n        local -a commands=(\n";
    std::string dispatch = "    arguments)\n        case $line[1] in\n";
    for (const Command& sub : command.commands) {
        text +=
            fmt::format("            {}\n", shell_quoted(fmt::format("{}:{}", sub.name(), zsh_text(sub.summary()))));
        dispatch += fmt::format("        {}) {} ;;\n", shell_quoted(sub.name()), function_of(sub.path));
    }
    return text + "        )\n        _describe command commands\n        ;;\n" + dispatch +
           "        esac\n        ;;\n    esac\n";
}

std::string zsh_function(const Command& command) {
    std::vector<std::string> specifications;
    add_zsh_options(command, specifications);
    add_zsh_arguments(command, specifications);
    const bool parent = !command.commands.empty();
    if (parent) {
        specifications.insert(specifications.end(), {"'1: :->command'", "'*:: :->arguments'"});
    }
    const std::string_view state = "    local curcontext=$curcontext state state_descr line\n    typeset -A opt_args\n";
    return fmt::format("{}() {{\n{}    _arguments {}\\\n        {}\n{}}}\n\n", function_of(command.path),
                       parent ? state : "", parent ? "-C " : "", fmt::join(specifications, " \\\n        "),
                       parent ? zsh_commands(command) : "");
}

std::string filled(std::string text, const std::vector<std::pair<std::string_view, std::string>>& places) {
    for (const auto& [place, value] : places) {
        for (auto at = text.find(place); at != std::string::npos; at = text.find(place, at + value.size())) {
            text.replace(at, place.size(), value);
        }
    }
    return text;
}

}  // namespace

std::string bash_completion(const Command& program) {
    std::vector<std::string> commands;
    each_command(program, [&commands](const Command& command) {
        for (const Command& sub : command.commands) {
            commands.push_back(sub.path);
        }
    });
    const std::string walk = bash_case(taking(program, [](auto&) { return true; }), "((i++))") +
                             bash_case(commands, "command+=\" ${COMP_WORDS[i]}\"");
    return filled(std::string(embedded::completion_bash()), {{"@PROGRAM@", program.path},
                                                             {"@FUNCTION@", function_of(program.path)},
                                                             {"@WALK@", walk},
                                                             {"@VALUES@", bash_values(program)},
                                                             {"@WORDS@", bash_words(program)}});
}

std::string zsh_completion(const Command& program) {
    std::string text =
        fmt::format("#compdef {0}\n# zsh completion of {0}; made by `{0} --completion zsh`\n\n", program.path);
    each_command(program, [&text](const Command& command) { text += zsh_function(command); });
    return text + fmt::format("{} \"$@\"\n", function_of(program.path));
}

}  // namespace happe
