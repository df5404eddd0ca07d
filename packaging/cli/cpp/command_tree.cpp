// SPDX-License-Identifier: GPL-2.0-or-later
#include "packaging/cli/cpp/command_tree.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>

namespace happe {
namespace {

constexpr auto kAll = [](const CLI::App*) { return true; };

// CLI11 tells types and validators as one text: "TEXT", "TEXT:NAME", "UINT:INT in [1 - 64]", "TEXT:{paper,a3}",
// "TEXT:value in {a->0,b->1} OR {0,1}".
std::vector<std::string> choices(std::string_view type) {
    std::vector<std::string> result;
    const auto begin = type.find('{');
    const auto end = type.find('}');
    if (begin == std::string_view::npos || end == std::string_view::npos) {
        return result;
    }
    for (const std::string& choice : CLI::detail::split(std::string(type.substr(begin + 1, end - begin - 1)), ',')) {
        result.push_back(choice.substr(0, choice.find("->")));
    }
    return result;
}

std::string limits(std::string_view type) {
    const auto begin = type.find(" in [");
    const auto middle = type.find(" - ", begin);
    const auto end = type.find(']', begin);
    if (begin == std::string_view::npos || middle == std::string_view::npos || end == std::string_view::npos) {
        return {};
    }
    const auto least = begin + std::string_view(" in [").size();
    return fmt::format("{} to {}", type.substr(least, middle - least), type.substr(middle + 3, end - middle - 3));
}

// The last part that is a name.
std::string value_name(const std::string& type) {
    std::string name;
    for (const std::string& part : CLI::detail::split(type, ':')) {
        if (std::ranges::all_of(part, [](char c) { return (c >= 'A' && c <= 'Z') || c == '_'; })) {
            name = part;
        }
    }
    return name == "INT" || name == "UINT" ? "N" : name;
}

CommandOption described(const CLI::Option& option) {
    CommandOption result;
    for (const std::string& name : option.get_snames()) {
        result.names.push_back("-" + name);
    }
    for (const std::string& name : option.get_lnames()) {
        result.names.push_back("--" + name);
    }
    if (option.get_items_expected_max() > 0) {
        const std::string type = option.get_type_name();
        const std::string value = value_name(type);
        result.value = result.names.empty() ? option.get_name(true) : value;
        result.takes_file = value == "FILE";
        result.takes_folder = value == "DIR";
        result.choices = choices(type);
        result.limits = limits(type);
        result.default_value = option.get_default_str();
        result.repeated = option.get_expected_max() == CLI::detail::expected_max_vector_size;
    }
    result.description = option.get_description();
    result.required = option.get_required();
    return result;
}

void add_options(const CLI::App& app, Command& command) {
    for (const CLI::Option* const option : app.get_options()) {
        if (!option->get_group().empty()) {
            (option->nonpositional() ? command.options : command.arguments).push_back(described(*option));
        }
    }
}

// CLI11 hands the parent's footer down to commands that have none of their own.
std::string own_footer(const CLI::App& app) {
    const CLI::App* const parent = app.get_parent();
    return parent != nullptr && parent->get_footer() == app.get_footer() ? "" : app.get_footer();
}

Command command(const CLI::App& app, const std::string& parent) {
    Command result{.path = parent + app.get_name(),
                   .description = app.get_description(),
                   .footer = own_footer(app),
                   .options = {},
                   .arguments = {},
                   .commands = {},
                   .runs = app.get_require_subcommand_min() == 0};
    add_options(app, result);
    for (const CLI::App* const sub : app.get_subcommands(kAll)) {
        if (sub->get_name().empty()) {
            add_options(*sub, result);  // an option group
        } else if (!sub->get_group().empty()) {
            result.commands.push_back(command(*sub, result.path + ' '));
        }
    }
    return result;
}

}  // namespace

Command command_tree(const CLI::App& program) {
    return command(program, "");
}

}  // namespace happe
