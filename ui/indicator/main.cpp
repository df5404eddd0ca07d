// SPDX-License-Identifier: GPL-2.0-or-later
// happe-indicator: the overlay with the remaining battery time, and the session's agent, which reports to happed the
// application in front. This file builds the parts and runs them.
#include "governor/cli/usage_mistake.h"
#include "ui/agent/focus_agent.h"
#include "ui/agent/sources/idle_watch.h"
#include "ui/agent/sources/sources.h"
#include "ui/bus/desktop_watch.h"
#include "ui/indicator/options.h"
#include "ui/indicator/overlay.h"
#include "ui/indicator/status.h"
#include "ui/indicator/surface_choice.h"
#include "ui/program.h"

#include <malloc.h>
#include <sysexits.h>
#include <CLI/CLI.hpp>
#include <QDBusConnection>
#include <QGuiApplication>
#include <algorithm>
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

// The words of the settings file, then of the command line, in reverse: CLI11 takes the last word first.
std::vector<std::string> arguments(int argc, char** argv) {
    std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
    std::error_code none;  // a folder that we cannot read has no settings
    if (const std::string file = settings_file(); std::filesystem::exists(file, none)) {
        words.insert(words.begin(), "--config=" + file);
    }
    std::ranges::reverse(words);
    return words;
}

// The settings file, if the mistake is there and not on the command line. CLI11 names no file, but its message about a
// wrong value begins with the option's name.
std::string file_at_fault(const CLI::App& program, const CLI::ParseError& error, int argc, char** argv) {
    const std::string what = error.what();
    const std::string option = what.substr(0, what.find(':'));
    const auto is_option = [&](std::string_view word) { return word.substr(0, word.find('=')) == option; };
    const bool wrong = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ConfigError) ||
                       (option.starts_with("--") && std::none_of(argv, argv + argc, is_option));
    const CLI::Option& file = *program.get_config_ptr();
    return wrong && file.count() > 0 ? file.as<std::string>() : "";
}

// The session agent, and the overlay while the session can show one. The agent continues without the overlay, and never
// ends by itself.
class Session {
public:
    Session(const Options& options, const Overlay::Buses& buses, OverlayState state)
        : options_(options),
          buses_(buses),
          agent_(buses.system,
                 [by = options.focus, bus = buses.session](FocusBy better_than, const FocusSource::Events& events) {
                     return open_focus_source(by, better_than, bus, events);
                 }),
          watch_(buses.session),
          idle_(buses.session),
          extension_(buses.session),
          tray_(buses.session) {
        QObject::connect(&agent_, &FocusAgent::said,
                         [](const QString& what) { complain("in front: " + what.toStdString(), EX_OK); });
        QObject::connect(&watch_, &SourceWatch::changed, &agent_, &FocusAgent::look);
        QObject::connect(&idle_, &IdleWatch::changed, &agent_, &FocusAgent::idle);
        QObject::connect(&watch_, &SourceWatch::changed, &idle_, &IdleWatch::open);
        if (options.no_overlay) {
            return;
        }
        make_overlay(std::move(state));
        follow_places();
    }

    void start() {
        agent_.start();
        idle_.open();
        if (overlay_) {
            start_overlay();
        }
    }

private:
    void make_overlay(OverlayState state) {
        overlay_.emplace(buses_, std::move(state), options_.battery == Battery::Real, options_.theme,
                         surface_for(options_, buses_.session, [](const std::string& why) { complain(why, EX_OK); }));
        QObject::connect(
            &*overlay_, &Overlay::given_up, &agent_, [this](const std::string& why) { lose_overlay(why); },
            Qt::QueuedConnection);  // lose_overlay destroys the emitter
    }

    void start_overlay() {
        if (const std::string nowhere = overlay_->start(); !nowhere.empty()) {
            lose_overlay(nowhere);
        }
    }

    // Follows the places that surface_for() may choose and that may appear later.
    void follow_places() {
        const auto look_at = [this](bool wanted) {
            if (wanted) {
                place_appeared();
            }
        };
        if (options_.where == Where::Auto) {
            QObject::connect(&extension_, &ExtensionWatch::changed, &agent_, look_at,
                             Qt::QueuedConnection);  // place_appeared destroys a surface, which listens too
        }
        if (options_.where == Where::Auto || options_.where == Where::Tray) {
            // Every other place is better than the tray.
            QObject::connect(
                &tray_, &TrayWatch::appeared, &agent_, [this, look_at] { look_at(!overlay_); }, Qt::QueuedConnection);
        }
    }

    void place_appeared() {
        if (overlay_) {
            overlay_->open_anew();
        } else if (auto state = state_of(options_)) {
            make_overlay(*std::move(state));
            start_overlay();
        }
    }

    void lose_overlay(const std::string& why) {
        overlay_.reset();
        complain(why + "; happe-indicator shows nothing and only reports the application in front to happed", EX_OK);
    }

    Options options_;
    Overlay::Buses buses_;
    FocusAgent agent_;
    SourceWatch watch_;
    IdleWatch idle_;
    ExtensionWatch extension_;
    TrayWatch tray_;
    std::optional<Overlay> overlay_;
};

int run(const Options& options, QGuiApplication& application) {
    auto state = state_of(options);
    if (!state) {
        return complain(state.error(), EX_DATAERR);
    }
    const EndSignals stop;
    QObject::connect(&stop, &EndSignals::came, &application, &QCoreApplication::quit);
    const Overlay::Buses buses{QDBusConnection::systemBus(), QDBusConnection::sessionBus()};
    if (options.status) {
        return print_status(*std::move(state), buses, options);
    }
    Session session(options, buses, *std::move(state));
    session.start();
    ::malloc_trim(0);  // returns the memory that only the start needed
    return QGuiApplication::exec();
}

}  // namespace
}  // namespace happe::ui

int main(int argc, char** argv) try {
    // Qt paints and speaks on the bus; the windows are our own (docs/indicator.md).
    qputenv("QT_QPA_PLATFORM", "offscreen");
    CLI::App program(
        "happe-indicator - the remaining battery time, and the effect of the last key.\n\n"
        "Shows in a corner, above every window, how long the battery lasts and at which step of its ladder the CPU runs.\n"
        "For ten seconds after a key it shows what the key changed: \"+18 min\". It lets pointer and keyboard through.",
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
    } catch (const CLI::ParseError& error) {
        if (const std::string file = happe::ui::file_at_fault(program, error, argc, argv); !file.empty()) {
            return happe::ui::complain(file + ": " + error.what(), EX_DATAERR);
        }
        return happe::ui::complain(happe::usage_mistake(program, error), EX_USAGE);
    }
    if (options.model) {
        qputenv("HAPPE_POWER_MODEL", std::filesystem::absolute(*options.model).c_str());  // for happe-tray
    }
    QGuiApplication application(argc, argv);
    if (options.window) {
        return happe::ui::complain(happe::ui::become_window(), EX_UNAVAILABLE);
    }
    return happe::ui::run(options, application);
} catch (const std::exception& error) {
    return happe::ui::complain(std::string(error.what()) + "; please report this", EX_SOFTWARE);
}
