// SPDX-License-Identifier: GPL-2.0-or-later
// happectl feedback, reload and keys. Each makes one call.
#include "governor/cli/near_name.h"
#include "governor/happectl/commands.h"
#include "governor/happectl/view.h"

#include <fmt/format.h>
#include <array>
#include <iostream>
#include <memory>

namespace happe::ctl {
namespace {

struct KeyOptions {
    Output output;
    std::string key;
    std::uint32_t seconds = 30;
};

// Accepts the configuration's names of the keys, and the names that people use.
CLI::Validator key_name() {
    const auto of_configuration = [](std::string& name) {
        if (name == "faster" || name == "save") {
            name = name == "faster" ? "performance" : "power";
        }
        if (name == "performance" || name == "power") {
            return std::string();
        }
        constexpr std::array<std::string_view, 4> kNames{"faster", "performance", "power", "save"};
        const std::string_view near = nearest_name(name, kNames);
        return fmt::format("unknown key '{}'{}", name, near.empty() ? "" : fmt::format("; did you mean '{}'?", near));
    };
    return {of_configuration, "{faster,performance,power,save}"};
}

Outcome<int> feedback(const std::string& key) {
    return with_daemon([&](DaemonProxy& daemon) {
        return daemon.call_within(kPrompt, method::kFeedback, key == "power" ? Key::Power : Key::Performance).map([] {
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
                                  state.keyboards == 0 ? ", no keyboard has either key: happectl keys learn" : ""));
            return EX_OK;
        });
    });
}

// The command that sets the key. Refuses names that would need quotes in a shell: no key has such a name.
Outcome<std::string> command_to_set(const std::string& option, const std::string& key) {
    if (key.empty() || key.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+") != std::string::npos) {
        return trouble(EX_PROTOCOL, fmt::format("happed answered with a key named {}", key));
    }
    return fmt::format("sudo happectl keys set --{} {}", option, key);
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
        const auto command = key.and_then([&](const std::string& name) { return command_to_set(option, name); });
        if (!command) {
            return pass_on(command);
        }
        say(options.output.json ? json_text({{"key", *key}, {"option", "keys." + option}})
                                : fmt::format("{}\nTo use it: {}\n", *key, *command));
        return EX_OK;
    });
}

}  // namespace

void add_feedback(CLI::App& program, Task& task) {
    CLI::App* const command = program.add_subcommand("feedback", "Teach as if you pressed a key now");
    const auto key = std::make_shared<std::string>();
    command->add_option("KEY", *key, "faster (or performance), save (or power)")->required()->transform(key_name());
    command->footer(
        "Only the person at the machine can use it. It teaches the profile of the application in front.\n\n"
        "Examples:\n"
        "  happectl feedback faster\n"
        "  happectl feedback save");
    command->callback([key, &task] { task = [key] { return feedback(*key); }; });
}

void add_reload(CLI::App& program, Task& task) {
    CLI::App* const command = program.add_subcommand("reload", "Read the configuration again");
    command->footer(
        "If the file has an error, happectl prints it, and the old configuration stays in force. happectl check finds\n"
        "errors beforehand. happed also tries again to govern where another program did. Only for administrators.\n\n"
        "Examples:\n"
        "  happectl check && happectl reload");
    command->callback([&task] { task = reload; });
}

void add_keys(CLI::App& program, Task& task) {
    CLI::App* const command = program.add_subcommand("keys", "Show, find or set the two keys that teach");
    command->require_subcommand(1);
    command->footer(  // before the subcommands, which CLI11 hands it down to
        "learn waits until you press a key, and prints its name. It takes only keys that type no text. set writes keys\n"
        "into /etc/happe/happe.toml, keeps the rest of that file, and makes happed read it. A key that you do not name\n"
        "stays. Both are only for administrators; polkit asks for a password before learn, and before pkexec runs set.\n\n"
        "Examples:\n"
        "  happectl keys show\n"
        "  sudo happectl keys learn performance\n"
        "  sudo happectl keys set --performance KEY_F10 --power CTRL+META+KEY_DOWN\n"
        "  sudo happectl keys set --press");
    const auto options = std::make_shared<KeyOptions>();
    CLI::App* const shown = command->add_subcommand("show", "Print the two keys, and how many keyboards have them");
    add_output(*shown, options->output);
    shown->callback([options, &task] { task = [options] { return show_keys(*options); }; });
    CLI::App* const learned = command->add_subcommand("learn", "Press a key, and see what the configuration calls it");
    learned->add_option("KEY", options->key, "faster (or performance), save (or power) [performance]")
        ->transform(key_name());
    learned->add_option("--seconds", options->seconds, "How long to wait")
        ->check(CLI::Range(1U, 60U))
        ->capture_default_str();
    add_output(*learned, options->output);
    learned->callback([options, &task] { task = [options] { return learn_key(*options); }; });
    add_set_keys(*command, task);
}

}  // namespace happe::ctl
