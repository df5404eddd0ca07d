// SPDX-License-Identifier: GPL-2.0-or-later
// happe-study: a participant's sitting at this laptop.
#include "governor/cli/usage_mistake.h"
#include "ui/program/program.h"
#include "ui/study/commands.h"
#include "ui/study/sitting/journal.h"

#include <sysexits.h>
#include <CLI/CLI.hpp>
#include <QApplication>
#include <QLocale>
#include <QTranslator>
#include <csignal>
#include <exception>
#include <iostream>

namespace happe::study {
namespace {

const QString kTranslations = QStringLiteral(":/translations");

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
