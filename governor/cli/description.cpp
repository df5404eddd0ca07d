// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/cli/description.h"

#include <fmt/format.h>
#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

namespace happe {
namespace {

using Json = nlohmann::ordered_json;

constexpr auto kAll = [](const CLI::App*) { return true; };

// CLI11 gives types and validators as one text: "TEXT", "TEXT:NAME", "UINT:INT in [1 - 64]", "TEXT:{paper,a3}",
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

// A value's name is its type_name or its validator's: the last part that is a name.
std::string value_name(const std::string& type) {
    std::string name;
    for (const std::string& part : CLI::detail::split(type, ':')) {
        if (std::ranges::all_of(part, [](char c) { return (c >= 'A' && c <= 'Z') || c == '_'; })) {
            name = part;
        }
    }
    return name == "INT" || name == "UINT" ? "N" : name;
}

// The kind of thing that a value of this name means.
std::string taken(const std::string& value) {
    if (value == "FILE") {
        return "file";
    }
    return value == "DIR" ? "folder" : "";
}

std::vector<std::string> names_of(const CLI::Option& option) {
    std::vector<std::string> result;
    for (const std::string& name : option.get_snames()) {
        result.push_back("-" + name);
    }
    for (const std::string& name : option.get_lnames()) {
        result.push_back("--" + name);
    }
    return result;
}

Json described(const CLI::Option& option) {
    const std::vector<std::string> names = names_of(option);
    const bool takes_value = option.get_items_expected_max() > 0;
    const std::string type = takes_value ? option.get_type_name() : "";
    const std::string value = value_name(type);
    return {{"names", names},
            {"value", names.empty() && takes_value ? option.get_name(true) : value},
            {"description", option.get_description()},
            {"choices", choices(type)},
            {"limits", limits(type)},
            {"default", takes_value ? option.get_default_str() : ""},
            {"required", option.get_required()},
            {"repeated", takes_value && option.get_expected_max() == CLI::detail::expected_max_vector_size},
            {"takes", taken(value)}};
}

// Visits the options of a command and of its option groups, which are commands without a name.
void each_option(const CLI::App& command, const std::function<void(const CLI::Option&)>& visit) {
    for (const CLI::Option* const option : command.get_options()) {
        if (!option->get_group().empty()) {
            visit(*option);
        }
    }
    for (const CLI::App* const sub : command.get_subcommands(kAll)) {
        if (sub->get_name().empty()) {
            each_option(*sub, visit);
        }
    }
}

void each_command(const CLI::App& command, const std::function<void(const CLI::App&)>& visit) {
    for (const CLI::App* const sub : command.get_subcommands(kAll)) {
        if (!sub->get_name().empty() && !sub->get_group().empty()) {
            visit(*sub);
        }
    }
}

// A command's own footer: CLI11 gives commands without a footer their parent's.
std::string own_footer(const CLI::App& app) {
    const CLI::App* const parent = app.get_parent();
    return parent != nullptr && parent->get_footer() == app.get_footer() ? "" : app.get_footer();
}

Json described(const CLI::App& command, const std::string& parent) {
    const std::string path = parent + command.get_name();
    Json result{{"path", path},
                {"description", command.get_description()},
                {"footer", own_footer(command)},
                {"runs", command.get_require_subcommand_min() == 0},
                {"options", Json::array()},
                {"arguments", Json::array()},
                {"commands", Json::array()}};
    each_option(command, [&result](const CLI::Option& option) {
        result[option.nonpositional() ? "options" : "arguments"].push_back(described(option));
    });
    each_command(command, [&](const CLI::App& sub) { result["commands"].push_back(described(sub, path + ' ')); });
    return result;
}

// Keeps the lines of description and footer, which CLI11 2.5 and newer would re-flow, examples included.
template <typename Formatter>
void keep_lines(Formatter& formatter) {
    if constexpr (requires { formatter.enable_footer_formatting(false); }) {
        formatter.enable_description_formatting(false);
        formatter.enable_footer_formatting(false);
    }
}

}  // namespace

void add_description(CLI::App& program, const About& about) {
    keep_lines(*program.get_formatter());
    const Json description{{"section", about.section},
                           {"version", about.version},
                           {"more", about.more},
                           {"command", described(program, "")}};
    program
        .add_flag_callback("--describe",
                           [text = description.dump(1)] { throw CLI::CallForVersion(text, EXIT_SUCCESS); })
        ->trigger_on_parse()  // before CLI11 asks for a subcommand
        ->group("");
}

std::vector<std::string> option_names(const CLI::App& command) {
    std::vector<std::string> result;
    each_option(command, [&result](const CLI::Option& option) {
        std::ranges::move(names_of(option), std::back_inserter(result));
    });
    return result;
}

std::vector<std::string> command_names(const CLI::App& command) {
    std::vector<std::string> result;
    each_command(command, [&result](const CLI::App& sub) { result.push_back(sub.get_name()); });
    return result;
}

}  // namespace happe
