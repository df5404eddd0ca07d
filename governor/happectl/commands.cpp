// SPDX-License-Identifier: GPL-2.0-or-later
// What all commands of happectl share, and the commands that make one call: feedback, reload, keys, undo, study.
#include "governor/happectl/commands.h"
#include "governor/cli/near_name.h"
#include "governor/documents/json_document.h"
#include "governor/explain/reasons.h"
#include "governor/happectl/view.h"
#include "governor/happectl/waiter.h"
#include "governor/system/monotonic_clock.h"

#include <fmt/format.h>
#include <array>
#include <cstdio>
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

// In mode `extended`, waits until "faster" counts, and says if it found the top.
Outcome<int> feedback(DaemonProxy& daemon, const std::string& key) {
    const auto before = daemon.properties();
    if (!before) {
        return pass_on(before);
    }
    const bool waits = key != "power" && before->run.empty() && setting(*before, "algorithm.mode") == "extended";
    Waiter waiter(daemon, {});
    const auto pressed = daemon.call_within(kPrompt, method::kFeedback, key == "power" ? Key::Power : Key::Performance);
    if (!pressed) {
        return pass_on(pressed);
    }
    constexpr Micros kLongest = std::chrono::seconds{2};  // a press within a series does not count
    const MonoTime until = monotonic_now() + kLongest;
    while (waits && !waiter.has_counted() && waiter.wait(until) != Waiter::Event::Time) {
    }
    const auto after = daemon.properties();
    if (after && after->fastest_us != before->fastest_us) {
        const Ladder* const fastest = fastest_ladder(*after);
        say(at_the_top(after->limits, fastest != nullptr ? fastest->top() : Khz{}, gigahertz) + "\n");
    }
    return EX_OK;
}

Outcome<int> show_keys(DaemonProxy& daemon, const KeyOptions& options) {
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
}

// The command that sets the key. Refuses names that would need quotes in a shell: no key has such a name.
Outcome<std::string> command_to_set(const std::string& option, const std::string& key) {
    if (key.empty() || key.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+") != std::string::npos) {
        return trouble(EX_PROTOCOL, fmt::format("happed answered with a key named {}", key));
    }
    return fmt::format("sudo happectl keys set --{} {}", option, key);
}

Outcome<int> learn_key(DaemonProxy& daemon, const KeyOptions& options) {
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
}

struct UndoOptions {
    Output output;
    std::string user;
    std::string application;
    std::uint32_t count = 1;
};

std::string in_words(const UndoneLesson& undone, const Style& style) {
    const Lesson& lesson = undone.event.lesson;
    const char* const cause = lesson.probe ? "a probe" : lesson.key == Key::Performance ? "faster" : "save power";
    return fmt::format("undone: lesson {}, {} in {}; level {} goes back from {} to {}\n", undone.event.seq, cause,
                       printable(undone.whom.app, style), lesson.level.value, gigahertz(lesson.to),
                       gigahertz(lesson.from));
}

nlohmann::ordered_json in_json(const UndoneLesson& undone) {
    const Lesson& lesson = undone.event.lesson;
    return {{"number", undone.event.seq},  {"application", undone.whom.app}, {"key", cause_of(lesson)},
            {"level", lesson.level.value}, {"from_khz", lesson.from.value},  {"to_khz", lesson.to.value}};
}

Outcome<int> undo(DaemonProxy& daemon, const UndoOptions& options) {
    const auto undone = daemon.call(method::kUndo, options.user, options.application, options.count);
    if (!undone) {
        return pass_on(undone);
    }
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const UndoneLesson& lesson : *undone) {
        all.push_back(in_json(lesson));
        say(options.output.json ? "" : in_words(lesson, options.output.style()));
    }
    say(options.output.json ? json_text(all) : "");
    if (undone->size() < options.count) {
        remark(fmt::format("{} undone; no older lesson can be undone", undone->size()));
    }
    return EX_OK;
}

Outcome<int> show_device_key(DaemonProxy& daemon, const Output& output) {
    return daemon.call_within(kPrompt, method::kDeviceKey).map([&](const PublicKey& key) {
        const std::string text = base64_of(key);
        const std::string fingerprint = fingerprint_of(key);
        say(output.json ? json_text({{"public_key", text}, {"key_sha256", fingerprint}})
                        : fmt::format("public key  {}\nSHA-256     {}\n", text, fingerprint));
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
    with_daemon(*command, task, key, feedback);
}

void add_reload(CLI::App& program, Task& task) {
    CLI::App* const command = program.add_subcommand("reload", "Read the configuration again");
    command->footer(
        "If the file has an error, happectl prints it, and the old configuration stays in force. happectl check finds\n"
        "errors beforehand. happed also tries again to govern where another program did. Only for administrators.\n\n"
        "Examples:\n"
        "  happectl check && happectl reload");
    command->callback([&task] { task = [] { return with_daemon(read_configuration_again); }; });
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
    with_daemon(*shown, task, options, show_keys);
    CLI::App* const learned = command->add_subcommand("learn", "Press a key, and see what the configuration calls it");
    learned->add_option("KEY", options->key, "faster (or performance), save (or power) [performance]")
        ->transform(key_name());
    learned->add_option("--seconds", options->seconds, "How long to wait")
        ->check(CLI::Range(1U, 60U))
        ->capture_default_str();
    add_output(*learned, options->output);
    with_daemon(*learned, task, options, learn_key);
    add_set_keys(*command, task);
}

void add_undo(CLI::App& program, Task& task) {
    CLI::App* const command = program.add_subcommand("undo", "Undo your last key presses");
    const auto options = std::make_shared<UndoOptions>();
    command->add_option("N", options->count, "How many lessons to undo; a lesson is all that one press taught")
        ->check(CLI::Range(1U, 1000U))
        ->capture_default_str();
    command
        ->add_option("--app", options->application,
                     "Only lessons of this application, as happectl profiles list names it")
        ->check(kName);
    add_user(*command, options->user, "Undo the lessons of this user");
    add_output(*command, options->output);
    command->footer(
        "Undoes the newest lesson first, in any application. Then each level of the profile has the value from before\n"
        "that press. Another undo goes one lesson further back. happectl events shows lessons and undos. HAPPE cannot\n"
        "undo lessons that it no longer keeps, or any lesson during a study's run.\n\n"
        "Examples:\n"
        "  happectl undo\n"
        "  happectl undo 3 --app torcs");
    with_daemon(*command, task, options, undo);
}

void add_study(CLI::App& program, Task& task) {
    CLI::App* const command =
        program.add_subcommand("study", "Print the data that a study server needs from this laptop");
    command->require_subcommand(1);
    command->footer(  // before the subcommand, which CLI11 hands it down to
        "The first time, happed makes a pair of keys. The secret key never leaves /var/lib/happe. Copy the printed public\n"
        "key into the laptop's enrolment. The server's audit log identifies the laptop by the SHA-256 of that key.\n\n"
        "Examples:\n"
        "  happectl study key\n"
        "  happectl study key --json | jq -r .public_key");
    const auto output = std::make_shared<Output>();
    CLI::App* const key = command->add_subcommand("key", "Its public key, to which conditions are sealed");
    add_output(*key, *output);
    with_daemon(*key, task, output, show_device_key);
}

const CLI::Validator kName(
    [](const std::string& name) {
        constexpr std::size_t kLongest = 255;
        if (name.empty() || name.size() > kLongest) {
            return std::string("must have 1 to 255 bytes");
        }
        const bool good = json::is_utf8(name) && name.find('\0') == std::string::npos;
        return good ? std::string() : std::string("must be UTF-8");
    },
    "NAME");

void add_output(CLI::App& command, Output& output) {
    command.add_flag("--json", output.json, "Print JSON, in ASCII");
    command.add_flag("--ascii", output.ascii, "Draw with ASCII; the default if the locale isn't UTF-8");
}

void add_application(CLI::App& command, std::string& application) {
    command.add_option("APPLICATION", application, "The application, as happectl profiles list names it")
        ->required()
        ->check(kName);
}

void add_user(CLI::App& command, std::string& user, const std::string& purpose) {
    command.add_option("--user", user, purpose + " [you]; only administrators may name somebody else")->check(kName);
}

void say(const std::string& text) {
    std::cout << text;
}

Outcome<int> read_configuration_again(DaemonProxy& daemon) {
    return daemon.call(method::kReload).map([] { return EX_OK; });
}

void remark(const std::string& text) {
    std::cout.flush();
    std::fputs(fmt::format("happectl: {}\n", printable(text, style_of_output(false))).c_str(), stderr);
}

}  // namespace happe::ctl
