// SPDX-License-Identifier: GPL-2.0-or-later
// What a program takes, read from its CLI11 definition: the one source of --help, manual page and completion.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace happe {

struct CommandOption {
    std::vector<std::string> names;  // with their dashes; none for an argument that goes by its place
    std::string value;               // what its value is called; empty for a flag
    std::vector<std::string> choices;
    std::string limits;         // "1 to 64"; empty if there are none
    std::string default_value;  // empty if there is none to show
    std::string description;
    bool required = false;
    bool repeated = false;
    bool takes_file = false;
    bool takes_folder = false;
};

struct Command {
    std::string path;  // "happe-sim study"
    std::string description;
    std::string footer;
    std::vector<CommandOption> options;
    std::vector<CommandOption> arguments;
    std::vector<Command> commands;
    bool runs = true;  // without one of its commands

    [[nodiscard]] std::string name() const { return path.substr(path.rfind(' ') + 1); }
    [[nodiscard]] std::string summary() const { return description.substr(0, description.find('\n')); }
};

// Without what is hidden (in the group ""). A value's name is its type_name or its validator's: FILE and DIR are
// completed as such.
[[nodiscard]] Command command_tree(const CLI::App& program);

}  // namespace happe
