// SPDX-License-Identifier: GPL-2.0-or-later
// happe-indicator: what is left of the battery, above everything, and the session's agent, which tells happed what is
// in front. It builds its parts and lets them run.
#include "ui/agent/focus_agent.h"
#include "ui/indicator/options.h"
#include "ui/indicator/overlay.h"
#include "ui/indicator/status.h"
#include "ui/indicator/surface_choice.h"
#include "ui/indicator/translations.h"
#include "ui/indicator/tray_program.h"
#include "ui/indicator/unix_signals.h"

#include <malloc.h>
#include <sysexits.h>
#include <CLI/CLI.hpp>
#include <QDBusConnection>
#include <QGuiApplication>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace happe::ui {
namespace {

int complain(const std::string& message, int status) {
    std::fputs(("happe-indicator: " + message + "\n").c_str(), stderr);
    return status;
}

// The command line, last word first as CLI11 takes it, after the user's settings.
std::vector<std::string> arguments(int argc, char** argv) {
    std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
    std::error_code none;  // a folder that may not be looked into has no settings
    if (const std::string file = settings_file(); std::filesystem::exists(file, none)) {
        words.insert(words.begin(), "--config=" + file);
    }
    std::ranges::reverse(words);
    return words;
}

// An error: why there is nowhere to show it.
std::string start(Overlay& overlay) {
    QObject::connect(&overlay, &Overlay::given_up, [] { QCoreApplication::exit(EX_UNAVAILABLE); });
    return overlay.start();
}

// False: nobody says what is in front, and that is all that was asked for.
bool start(FocusAgent& agent, const Options& options) {
    QObject::connect(&agent, &FocusAgent::said,
                     [](const QString& what) { complain("in front: " + what.toStdString(), EX_OK); });
    QObject::connect(&agent, &FocusAgent::given_up, [&options] {
        if (options.no_overlay) {
            QCoreApplication::exit(EX_UNAVAILABLE);
        }
    });
    const std::string error = agent.start();
    if (!error.empty()) {
        complain(error, EX_OK);
    }
    return error.empty() || !options.no_overlay;
}

int run(const Options& options, QGuiApplication& application) {
    auto state = state_of(options);
    if (!state) {
        return complain(state.error(), EX_DATAERR);
    }
    const UnixSignals stop({SIGTERM, SIGINT});  // before there are threads
    QObject::connect(&stop, &UnixSignals::came, &application, &QCoreApplication::quit);
    const Overlay::Buses buses{QDBusConnection::systemBus(), QDBusConnection::sessionBus()};
    if (options.status) {
        return print_status(*std::move(state), buses, options);
    }
    FocusAgent agent(buses.system, [&](const FocusSource::Events& events) {
        return open_focus_source(options.focus, buses.session, events);
    });
    std::optional<Overlay> overlay;
    if (!options.no_overlay) {
        overlay.emplace(buses, *std::move(state), options.battery == Battery::Real, options.theme,
                        surface_for(options, [](const std::string& why) { complain(why, EX_OK); }));
        if (const std::string error = start(*overlay); !error.empty()) {
            return complain(error, EX_UNAVAILABLE);
        }
    }
    if (!start(agent, options)) {
        return EX_UNAVAILABLE;
    }
    ::malloc_trim(0);  // what starting took
    return QGuiApplication::exec();
}

}  // namespace
}  // namespace happe::ui

int main(int argc, char** argv) try {
    // Qt paints and speaks on the bus; the windows are our own (docs/indicator.md).
    qputenv("QT_QPA_PLATFORM", "offscreen");
    CLI::App program(
        "happe-indicator - what is left of the battery, and what the last key gave.\n\n"
        "Shows, in a corner and above everything, how long the battery lasts, which step of its ladder the CPU runs at,\n"
        "and for ten seconds what the last press of a key changed: \"+18 min\". Pointer and keyboard go through it.",
        "happe-indicator");
    happe::ui::Options options;
    happe::ui::define(program, options);
    try {
        program.parse(happe::ui::arguments(argc, argv));
    } catch (const CLI::Success& help_or_version) {
        const int status = program.exit(help_or_version);
        return std::cout.flush() ? status : happe::ui::complain("standard output: cannot write", EX_IOERR);
    } catch (const CLI::FileError& error) {
        return happe::ui::complain(error.what(), EX_NOINPUT);
    } catch (const CLI::ConfigError& error) {
        return happe::ui::complain("the settings: " + std::string(error.what()), EX_DATAERR);
    } catch (const CLI::ParseError& error) {
        return happe::ui::complain(std::string(error.what()) + "; see happe-indicator --help", EX_USAGE);
    }
    QGuiApplication application(argc, argv);
    if (options.window) {
        return happe::ui::complain(happe::ui::become_window(), EX_UNAVAILABLE);
    }
    happe::ui::install_translations(application);
    return happe::ui::run(options, application);
} catch (const std::exception& error) {
    return happe::ui::complain(std::string(error.what()) + "; please report this", EX_SOFTWARE);
}
