// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/study/options.h"

#include "governor/cli/description.h"

#include <CLI/CLI.hpp>
#include <QStandardPaths>

namespace happe::study {
namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  happe-study enrol https://study.example.org   once, with a code from an administrator\n"
    "  happe-study                                   a sitting, or on with the one that was interrupted\n"
    "  happe-study status                            what is kept here that the server has not got\n"
    "\n"
    "The experimenter's keys, at any time: Ctrl+Alt+Shift+Q. On Wayland, while the application is in front: `happe-study\n"
    "abort` from another terminal.\n"
    "\n"
    "Files: ~/.local/state/happe-study has the laptop's token and what is not yet on the server, for its owner alone.\n"
    "\n"
    "Exit status: 0 done, 1 the server has refused something, 64 wrong usage, 65 a file says something wrong, 66 this\n"
    "laptop is not enrolled, 69 server or bus are not there, 73 a file cannot be made, 75 the wizard is running, 77 not\n"
    "allowed.";

std::string default_state() {
    const QString set = qEnvironmentVariable("XDG_STATE_HOME");
    const QString home =
        QStandardPaths::writableLocation(QStandardPaths::HomeLocation) + QStringLiteral("/.local/state");
    return ((set.isEmpty() ? home : set) + QStringLiteral("/happe-study")).toStdString();
}

CLI::App* add_command(CLI::App& program, Options& options, Command command, const char* name, const char* help) {
    CLI::App* const added = program.add_subcommand(name, help);
    added->callback([&options, command] { options.command = command; });
    return added;
}

void define_commands(CLI::App& program, Options& options) {
    CLI::App* const enrol = add_command(program, options, Command::Enrol, "enrol",
                                        "Make this laptop one of a study's, with a code that works once");
    enrol->add_option("server", options.server, "The study server's address: https, or http on this machine")
        ->type_name("URL")
        ->required();
    enrol->add_option("code", options.code, "The enrolment code; if it is left out it is asked for")->type_name("CODE");
    CLI::App* const status =
        add_command(program, options, Command::Status, "status", "Show whose sitting it is and what waits to be sent");
    status->add_flag("--json", options.json, "As JSON");
    CLI::App* const upload =
        add_command(program, options, Command::Upload, "upload", "Send what is kept here, without a window");
    upload->add_option("--patience", options.patience_s, "For how many seconds to try")
        ->type_name("SECONDS")
        ->check(CLI::Range(1, 86400))
        ->capture_default_str();
    upload->add_flag("--again", options.again, "Also what the server has refused, which may have changed its mind");
    add_command(program, options, Command::Abort, "abort", "Have the running wizard ask the experimenter for a reason");
}

}  // namespace

void define(CLI::App& program, Options& options) {
    options.state = default_state();
    program.add_option("--state", options.state, "Where the laptop's token is, and what the server has not got")
        ->type_name("FOLDER");
    program.add_option("--browser", options.browser, "What opens the participant's pages; if left out, xdg-open")
        ->type_name("PROGRAM");
    program.add_option("--language", options.language, "Of the wizard's own words; if left out, the desktop's")
        ->type_name("LANGUAGE")
        ->check(CLI::IsMember({"de", "en"}));
    program.add_option("--countdown", options.countdown_s, "For how many seconds a run is announced")
        ->type_name("SECONDS")
        ->check(CLI::Range(0, 60))
        ->capture_default_str();
    program
        .add_option("--settle", options.settle_ms,
                    "For how many milliseconds nothing may be pressed before a rating is taken: hands\n"
                    "are still playing")
        ->type_name("MS")
        ->check(CLI::Range(0, 10000))
        ->capture_default_str();
    program.require_subcommand(0, 1);
    define_commands(program, options);
    program.set_version_flag("--version", "happe-study " HAPPE_VERSION);
    program.footer(kFooter);
    add_description(program, {.section = 1, .version = HAPPE_VERSION, .more = "See also: happectl(1), happed(8)"});
}

}  // namespace happe::study
