// SPDX-License-Identifier: GPL-2.0-or-later
// happe-study: a participant's sitting at this laptop.
#include "governor/cli/usage_mistake.h"
#include "ui/program.h"
#include "ui/study/commands.h"
#include "ui/study/laptop/x11_desktop.h"
#include "ui/study/sitting/journal.h"
#include "ui/study/window.h"
#include "ui/study/wizard.h"

#include <sysexits.h>
#include <CLI/CLI.hpp>
#include <QApplication>
#include <QLocale>
#include <QStandardPaths>
#include <QTimer>
#include <QTranslator>
#include <csignal>
#include <exception>
#include <initializer_list>
#include <iostream>

namespace happe::study {
namespace {

// The wizard leaves, or calls the experimenter (SIGUSR1, by which `happe-study abort` calls).
constexpr std::initializer_list<int> kAsked = {SIGTERM, SIGINT, SIGUSR1};

const QString kTranslations = QStringLiteral(":/translations");

constexpr const char* kFooter =
    "Examples:\n"
    "  happe-study enrol https://study.example.org   enrols this laptop, once, with an administrator's code\n"
    "  happe-study                                   begins a sitting, or continues an interrupted one\n"
    "  happe-study status                            shows data that the server does not have yet\n"
    "\n"
    "Ctrl+Alt+Shift+Q opens the experimenter's page at any time. On Wayland, while the application is in front, run\n"
    "`happe-study abort` in another terminal.\n"
    "\n"
    "Files: ~/.local/state/happe-study has the laptop's token, and data that the server does not have yet. Only\n"
    "its owner can read it.\n"
    "\n"
    "Exit status: 0 done, 1 the server has refused something, 64 wrong usage, 65 a file is wrong, 66 this laptop is not\n"
    "enrolled, 69 the server, the bus or a screen is missing, 70 a mistake in happe-study, 73 a file cannot be created,\n"
    "74 the output fails, 75 another happe-study is running, 77 not allowed.\n"
    "\n"
    "See also: happectl(1), happed(8)";

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
                                        "Enrol this laptop in a study, with a code that works once");
    enrol->add_option("server", options.server, "The study server's address: https, or http on this machine")
        ->type_name("URL")
        ->required();
    enrol->add_option("code", options.code, "The enrolment code; without it, the command asks for it")
        ->type_name("CODE");
    CLI::App* const status = add_command(program, options, Command::Status, "status",
                                         "Show which participant sits here, and how much data waits to be sent");
    status->add_flag("--json", options.json, "As JSON");
    CLI::App* const upload = add_command(program, options, Command::Upload, "upload",
                                         "Send the data that waits on this laptop, without a window");
    upload->add_option("--patience", options.patience_s, "How many seconds to try")
        ->type_name("SECONDS")
        ->check(CLI::Range(1, 86400))
        ->capture_default_str();
    upload->add_flag("--again", options.again, "Also send again the data that the server has refused");
    add_command(program, options, Command::Abort, "abort",
                "Make the running wizard ask the experimenter why the run is aborted");
}

void define(CLI::App& program, Options& options) {
    options.state = default_state();
    program
        .add_option("--state", options.state,
                    "The folder with the laptop's token, and with data that the server does not have yet")
        ->type_name("FOLDER");
    program
        .add_option("--browser", options.browser, "The program that opens the participant's pages; by default xdg-open")
        ->type_name("PROGRAM");
    program
        .add_option("--language", options.language, "The language of the wizard's own words; by default the desktop's")
        ->type_name("LANGUAGE")
        ->check(CLI::IsMember({"de", "en"}));
    program.add_option("--countdown", options.countdown_s, "The seconds of the countdown before a run")
        ->type_name("SECONDS")
        ->check(CLI::Range(0, 60))
        ->capture_default_str();
    program
        .add_option("--settle", options.settle_ms,
                    "The milliseconds without a press before the wizard takes a rating, because actions\n"
                    "may still be playing")
        ->type_name("MS")
        ->check(CLI::Range(0, 10000))
        ->capture_default_str();
    program.require_subcommand(0, 1);
    define_commands(program, options);
    program.set_help_all_flag("--help-all", "Print the help of all commands");
    program.set_version_flag("--version", "happe-study " HAPPE_VERSION);
    program.footer(kFooter);
}

// Builds and connects the wizard's parts.
int run_wizard(const Options& options) {
    const auto laptop = open_laptop(options, "another wizard is running");
    if (!laptop) {
        return laptop.error();
    }
    const auto found_by_abort = take_lock(QString::fromStdString(options.state), kWizardLock);
    Server server(laptop->enrolment.server, laptop->enrolment.token);
    DaemonProxy governor(QDBusConnection::systemBus());
    Wizard wizard({.countdown_s = options.countdown_s,
                   .browser = QString::fromStdString(options.browser),
                   .state = QString::fromStdString(options.state),
                   .server = laptop->enrolment.server},
                  *laptop->journal, server, governor);
    Window window(wizard, options.settle_ms);
    const X11Desktop desk;
    QObject::connect(&desk, &X11Desktop::pressed, &window, &Window::call_experimenter);
    QObject::connect(&window, &Window::comes_forward, &desk, &X11Desktop::bring_forward);
    const ui::UnixSignals asked(kAsked);
    QObject::connect(&asked, &ui::UnixSignals::came, &window,
                     [&window](int number) { number == SIGUSR1 ? window.call_experimenter() : leave(); });
    QTimer::singleShot(0, &wizard, [&] { wizard.go_on(); });
    return QApplication::exec();
}

int act(const Options& options, int argc, char** argv) {
    std::signal(SIGXFSZ, SIG_IGN);  // then a file at its size limit fails like a full disk
    if (options.command == Command::Wizard) {
        if (!ui::has_screen("happe-study")) {
            return EX_UNAVAILABLE;
        }
        ui::UnixSignals::block(kAsked);  // Qt starts threads
        QApplication application(argc, argv);
        QApplication::setQuitOnLastWindowClosed(false);
        if (!options.language.empty()) {
            QLocale::setDefault(QLocale(QString::fromStdString(options.language)));
        }
        QTranslator translator;
        if (translator.load(QLocale(), QStringLiteral("happe"), QStringLiteral("_"), kTranslations) ||
            translator.load(QStringLiteral("happe_en"), kTranslations)) {  // English needs its plurals
            QApplication::installTranslator(&translator);
        }
        return run_wizard(options);
    }
    QCoreApplication application(argc, argv);
    switch (options.command) {
        case Command::Enrol:
            return enrol(options, application);
        case Command::Upload:
            return upload(options, application);
        case Command::Abort:
            return call_experimenter(options);
        case Command::Status:
        case Command::Wizard:
            return show_status(options);
    }
    return EX_SOFTWARE;
}

}  // namespace
}  // namespace happe::study

int main(int argc, char** argv) try {
    CLI::App program(
        "happe-study - a participant's sitting at this laptop.\n\n"
        "Connects to the study server and leads a participant through the runs. happed starts each run under a condition\n"
        "that only happed knows. The wizard asks for ratings, and keeps all data until the server has it.",
        "happe-study");
    happe::study::Options options;
    happe::study::define(program, options);
    try {
        program.parse(argc, argv);
    } catch (const CLI::Success& help_or_version) {
        const int status = program.exit(help_or_version);
        return std::cout.flush() ? status : happe::study::complain("standard output: cannot write", EX_IOERR);
    } catch (const CLI::ParseError& error) {
        return happe::study::complain(happe::usage_mistake(program, error), EX_USAGE);
    }
    return happe::study::act(options, argc, argv);
} catch (const happe::study::JournalError& error) {
    return happe::study::complain(error.what(), EX_CANTCREAT);
} catch (const std::exception& error) {
    return happe::study::complain(std::string(error.what()) + "; please report this", EX_SOFTWARE);
}
