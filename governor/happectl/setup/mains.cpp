// SPDX-License-Identifier: GPL-2.0-or-later
// happectl mains: shows and sets HAPPE's behaviour on mains, the options of the configuration's table [mains].
#include "governor/happectl/commands.h"
#include "governor/happectl/setup/change_options.h"
#include "governor/happectl/view.h"

#include <fmt/format.h>
#include <algorithm>
#include <map>
#include <memory>
#include <ranges>

namespace happe::ctl {
namespace {

constexpr std::string_view kTable = "mains.";

struct SetMainsOptions : SetupOptions {
    std::map<std::string_view, std::string> words;  // by the option's name; empty if not given
};

auto all_options() {
    return configuration_options() |
           std::views::filter([](const ConfigurationOption& option) { return option.name.starts_with(kTable); });
}

// "own_profiles"
std::string name_in_json(const ConfigurationOption& option) {
    return std::string(option.name.substr(kTable.size()));
}

// "own-profiles"
std::string name_on_command_line(const ConfigurationOption& option) {
    std::string name = name_in_json(option);
    std::ranges::replace(name, '_', '-');
    return name;
}

// The options take true or false, or a word.
OptionValue value_of(const ConfigurationOption& option, const std::string& word) {
    return std::holds_alternative<AcceptsBool>(option.accepts) ? OptionValue(word == "true") : OptionValue(word);
}

std::string word_of(const OptionValue& value) {
    const auto* const word = std::get_if<std::string>(&value);
    return word != nullptr ? *word : in_toml(value);
}

std::vector<std::string> words_of(const ConfigurationOption& option) {
    const auto* const accepts = std::get_if<AcceptsWord>(&option.accepts);
    return accepts != nullptr ? std::vector<std::string>(accepts->words.begin(), accepts->words.end())
                              : std::vector<std::string>{"true", "false"};
}

std::string row(const ConfigurationOption& option, std::string_view value) {
    return fmt::format("{:<12}  {}\n", name_on_command_line(option), value);
}

nlohmann::ordered_json in_json(const OptionValue& value) {
    const auto* const flag = std::get_if<bool>(&value);
    return flag != nullptr ? nlohmann::ordered_json(*flag) : nlohmann::ordered_json(word_of(value));
}

Outcome<int> show_mains(const Output& output) {
    return with_daemon([&](DaemonProxy& daemon) {
        return daemon.properties().map([&](Properties state) {
            std::string text;
            nlohmann::ordered_json json;
            for (const ConfigurationOption& option : all_options()) {
                const OptionValue& value = state.settings[std::string(option.name)];
                text += row(option, printable(word_of(value), output.style()));
                text += fmt::format("    {}\n", option.description);
                json[name_in_json(option)] = in_json(value);
            }
            say(output.json ? json_text(json) : text);
            return EX_OK;
        });
    });
}

Choices choices_of(const SetMainsOptions& options) {
    Choices choices;
    for (const ConfigurationOption& option : all_options()) {
        if (const std::string& word = options.words.at(option.name); !word.empty()) {
            choices.push_back({option.name, value_of(option, word)});
        }
    }
    return choices;
}

Outcome<int> set_mains(const SetMainsOptions& options) {
    const Choices choices = choices_of(options);
    if (choices.empty()) {
        return trouble(EX_USAGE, "name an option and its value: happectl mains set --help");
    }
    const auto changed = change_options(options, "mains set",
                                        [&](const Configuration& /*before*/) { return Outcome<Choices>(choices); });
    if (!changed) {
        return pass_on(changed);
    }
    std::string text;
    nlohmann::ordered_json json;
    for (const ConfigurationOption& option : all_options()) {
        const OptionValue value = option.get(changed->now);
        text += row(option, word_of(value));
        json[name_in_json(option)] = in_json(value);
    }
    say_changed(options, text, json, *changed);
    return EX_OK;
}

void add_show(CLI::App& mains, Task& task) {
    CLI::App* const command = mains.add_subcommand("show", "Print the options, and what they mean");
    const auto output = std::make_shared<Output>();
    add_output(*command, *output);
    command->callback([output, &task] { task = [output] { return show_mains(*output); }; });
}

void add_set(CLI::App& mains, Task& task) {
    CLI::App* const command = mains.add_subcommand("set", "Set options, in /etc/happe/happe.toml and at once");
    const auto options = std::make_shared<SetMainsOptions>();
    for (const ConfigurationOption& option : all_options()) {
        const std::string_view help = option.description.substr(0, option.description.find_first_of(",."));
        command->add_option("--" + name_on_command_line(option), options->words[option.name], std::string(help))
            ->check(CLI::IsMember(words_of(option)));
    }
    command->add_flag("--json", options->json, "Print the options as JSON, in ASCII");
    command->add_option("--root", options->root, "Look for files below this")->group("");
    command->callback([options, &task] { task = [options] { return set_mains(*options); }; });
}

}  // namespace

void add_mains(CLI::App& program, Task& task) {
    CLI::App* const command = program.add_subcommand("mains", "Show or set what HAPPE does while you are plugged in");
    command->require_subcommand(1);
    command->footer(  // before the subcommands, which CLI11 hands it down to
        "set writes into /etc/happe/happe.toml, keeps the rest of that file, and makes happed read it. An option that\n"
        "you do not name stays. It is only for administrators; polkit asks for a password before pkexec runs it.\n\n"
        "Examples:\n"
        "  happectl mains show\n"
        "  sudo happectl mains set --govern false\n"
        "  sudo happectl mains set --own-profiles true --epp balance_performance");
    add_show(*command, task);
    add_set(*command, task);
}

}  // namespace happe::ctl
