// SPDX-License-Identifier: GPL-2.0-or-later
// happectl feedback, reload and keys: a call each.
#include "governor/happectl/commands.h"
#include "governor/happectl/view.h"

#include <fmt/format.h>
#include <iostream>
#include <memory>

namespace happe::ctl {
namespace {

struct KeyOptions {
    Output output;
    std::string key;
    std::uint32_t seconds = 30;
};

Outcome<int> feedback(const std::string& key) {
    return with_daemon([&](DaemonProxy& daemon) {
        return daemon.call_within(kPrompt, method::kFeedback, key == "save" ? Key::Power : Key::Performance).map([] {
            return EX_OK;
        });
    });
}

Outcome<int> reload() {
    return with_daemon([](DaemonProxy& daemon) { return daemon.call(method::kReload).map([] { return EX_OK; }); });
}

Outcome<int> show_keys(const KeyOptions& options) {
    return with_daemon([&](DaemonProxy& daemon) {
        return daemon.properties().map([&](const Properties& state) {
            const std::string performance = setting(state, "keys.performance");
            const std::string power = setting(state, "keys.power");
            const Style style = options.output.style();
            say(options.output.json
                    ? json_text({{"performance", performance}, {"power", power}, {"keyboards", state.keyboards}})
                    : fmt::format("faster      {}\nsave power  {}\nkeyboards   {}{}\n", printable(performance, style),
                                  printable(power, style), state.keyboards,
                                  state.keyboards == 0 ? ", none has either key: happectl keys learn" : ""));
            return EX_OK;
        });
    });
}

// The line for the configuration's file. A key's name needs no escapes in TOML, or it is no key's name.
Outcome<std::string> configuration_line(const std::string& option, const std::string& key) {
    if (key.empty() || key.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+") != std::string::npos) {
        return trouble(EX_PROTOCOL, fmt::format("happed answered with a key named {}", key));
    }
    return fmt::format("{} = \"{}\"", option, key);
}

Outcome<int> learn_key(const KeyOptions& options) {
    return with_daemon([&](DaemonProxy& daemon) -> Outcome<int> {
        const std::string option = options.key.empty() ? "performance" : options.key;
        if (!options.output.json) {
            std::cerr << fmt::format("Press the key for {} within {} s. Keys that type text don't count.\n",
                                     option == "power" ? "\"save power\"" : "\"faster\"", options.seconds);
        }
        const std::chrono::milliseconds limit = std::chrono::seconds(options.seconds);
        const auto key =
            daemon.call_within(limit + kAskingSomebody, method::kLearnKey, static_cast<std::uint32_t>(limit.count()));
        const auto line = key.and_then([&](const std::string& name) { return configuration_line(option, name); });
        if (!line) {
            return pass_on(line);
        }
        say(options.output.json ? json_text({{"key", *key}, {"option", "keys." + option}})
                                : fmt::format("{}\n\nIn /etc/happe/happe.toml, below [keys]:\n{}\nThen: happectl "
                                              "reload\n",
                                              *key, *line));
        return EX_OK;
    });
}

}  // namespace

void add_feedback(CLI::App& program, Task& task) {
    CLI::App* const command = program.add_subcommand("feedback", "As if a key were pressed now");
    const auto key = std::make_shared<std::string>();
    command->add_option("KEY", *key, "faster, or save (power)")->required()->check(CLI::IsMember({"faster", "save"}));
    command->footer(
        "For whoever is at the machine: teaches the profile of the application in front.\n\n"
        "Examples:\n"
        "  happectl feedback faster\n"
        "  happectl feedback save");
    command->callback([key, &task] { task = [key] { return feedback(*key); }; });
}

void add_reload(CLI::App& program, Task& task) {
    CLI::App* const command = program.add_subcommand("reload", "Read the configuration anew");
    command->footer(
        "If the file has an error, the old configuration stays in force and the error is shown; happectl check shows\n"
        "it beforehand. Tries to govern again where another program did. An administrator may.\n\n"
        "Examples:\n"
        "  happectl check && happectl reload");
    command->callback([&task] { task = reload; });
}

void add_keys(CLI::App& program, Task& task) {
    CLI::App* const command = program.add_subcommand("keys", "The two keys that teach");
    command->require_subcommand(1);
    const auto options = std::make_shared<KeyOptions>();
    CLI::App* const shown = command->add_subcommand("show", "Which they are, and on how many keyboards");
    add_output(*shown, options->output);
    shown->callback([options, &task] { task = [options] { return show_keys(*options); }; });
    CLI::App* const learned = command->add_subcommand("learn", "Press a key, and see what the configuration calls it");
    learned->add_option("KEY", options->key, "Which of the two: performance or power [performance]")
        ->check(CLI::IsMember({"performance", "power"}));
    learned->add_option("--seconds", options->seconds, "How long to wait")
        ->check(CLI::Range(1U, 60U))
        ->capture_default_str();
    add_output(*learned, options->output);
    learned->callback([options, &task] { task = [options] { return learn_key(*options); }; });
    command->footer(
        "learn prints the line to put into /etc/happe/happe.toml. Only a key that types no text is taken. An\n"
        "administrator may.\n\n"
        "Examples:\n"
        "  happectl keys show\n"
        "  sudo happectl keys learn performance");
}

}  // namespace happe::ctl
