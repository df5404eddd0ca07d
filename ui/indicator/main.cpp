// SPDX-License-Identifier: GPL-2.0-or-later
// happe-indicator: what is left of the battery, above everything, and the session's agent, which tells happed what is
// in front. It builds its parts and lets them run.
#include "governor/cli/usage_mistake.h"
#include "ui/agent/focus_agent.h"
#include "ui/indicator/options.h"
#include "ui/indicator/overlay.h"
#include "ui/indicator/status.h"
#include "ui/indicator/surface_choice.h"
#include "ui/program/translations.h"
#include "ui/program/unix_signals.h"
#include "ui/surfaces/tray_program.h"

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
#include <utility>
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

// The overlay and the session agent. Each goes on without the other; the program ends when it has neither.
class Session {
public:
    Session(const Options& options, const Overlay::Buses& buses, OverlayState state)
        : agent_(buses.system, [by = options.focus, bus = buses.session](const FocusSource::Events& events) {
              return open_focus_source(by, bus, events);
          }) {
        QObject::connect(&agent_, &FocusAgent::said,
                         [](const QString& what) { complain("in front: " + what.toStdString(), EX_OK); });
        QObject::connect(&agent_, &FocusAgent::given_up, [this] { lose_agent(); });
        if (!options.no_overlay) {
            overlay_.emplace(buses, std::move(state), options.battery == Battery::Real, options.theme,
                             surface_for(options, [](const std::string& why) { complain(why, EX_OK); }));
            QObject::connect(
                &*overlay_, &Overlay::given_up, &agent_, [this] { lose_overlay("the window system is gone"); },
                Qt::QueuedConnection);  // it destroys who emits it
        }
    }

    // False: there is neither, and it has said why.
    [[nodiscard]] bool start() {
        const std::string nowhere = overlay_ ? overlay_->start() : std::string();
        const std::string nobody = agent_.start();
        agent_works_ = nobody.empty();
        if (!nowhere.empty()) {
            lose_overlay(nowhere);
        }
        if (!agent_works_) {
            complain(nobody, EX_OK);
        }
        return overlay_ || agent_works_;
    }

private:
    void lose_overlay(const std::string& why) {
        overlay_.reset();
        complain(why + (agent_works_ ? "; happe-indicator shows nothing and only tells happed what is in front" : ""),
                 EX_OK);
        end_without_both();
    }

    void lose_agent() {
        agent_works_ = false;
        end_without_both();
    }

    void end_without_both() const {
        if (!overlay_ && !agent_works_) {
            QCoreApplication::exit(EX_UNAVAILABLE);
        }
    }

    FocusAgent agent_;
    std::optional<Overlay> overlay_;
    bool agent_works_ = false;
};

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
    Session session(options, buses, *std::move(state));
    if (!session.start()) {
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
        return happe::ui::complain(happe::usage_mistake(program, error), EX_USAGE);
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
