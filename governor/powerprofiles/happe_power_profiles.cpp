// SPDX-License-Identifier: GPL-2.0-or-later
// happe-power-profiles: offers the desktop's power switch, and asks happed to follow it.
#include "governor/cli/description.h"
#include "governor/cli/usage_mistake.h"
#include "governor/powerprofiles/profiles_object.h"
#include "governor/system/event_loop.h"

#include <fmt/format.h>
#include <sysexits.h>
#include <systemd/sd-daemon.h>
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <exception>

namespace happe {
namespace {

int complain(const Error& error, int status) {
    std::fputs(fmt::format("happe-power-profiles: {}\n", error.message).c_str(), stderr);
    return status;
}

// sd-bus has already detached from the loop.
int on_disconnected(sd_bus_message* /*message*/, void* loop, sd_bus_error* /*error*/) {
    return sd_event_exit(static_cast<EventLoop*>(loop)->get(), EX_TEMPFAIL);
}

// Runs until SIGTERM, or until the bus ends; then systemd starts the program again.
int run(const std::filesystem::path& file) {
    const auto loop = EventLoop::create();
    if (!loop) {
        return complain(loop.error(), EX_TEMPFAIL);
    }
    int status = 0;
    for (const int signal : {SIGTERM, SIGINT}) {
        if (status >= 0) {
            status = sd_event_add_signal((*loop)->get(), nullptr, signal, nullptr, nullptr);  // ends the loop
        }
    }
    bus::Connection connection;
    if (status >= 0) {
        status = bus::take(connection, [](sd_bus** opened) { return sd_bus_open_system(opened); });
    }
    if (status >= 0) {
        status = (*loop)->attach(connection.get());
    }
    if (status >= 0) {
        status = sd_bus_match_signal(connection.get(), nullptr, nullptr, "/org/freedesktop/DBus/Local",
                                     "org.freedesktop.DBus.Local", "Disconnected", on_disconnected, loop->get());
    }
    if (status < 0) {
        return complain({"cannot reach the system bus: " + bus::error_of(status).message}, EX_TEMPFAIL);
    }
    ProfilesObject profiles(connection.get(), file,
                            [](const Error& error) { static_cast<void>(complain(error, EX_OK)); });
    if (const Status started = profiles.start(); !started) {
        return complain(started.error(), EX_TEMPFAIL);
    }
    sd_notify(0, "READY=1");
    return (*loop)->run();
}

}  // namespace
}  // namespace happe

int main(int argc, char** argv) try {
    // Blocked for the whole run: the event loop receives them.
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGTERM, SIGINT}) {
        sigaddset(&signals, signal);
    }
    sigprocmask(SIG_BLOCK, &signals, nullptr);

    std::filesystem::path file = "/var/lib/happe-power-profiles/profile";
    CLI::App program(
        "happe-power-profiles - the desktop's power switch, for the CPU governor HAPPE.\n\n"
        "Serves the power profiles of GNOME, KDE and powerprofilesctl on the system bus, as power-profiles-daemon does:\n"
        "with performance HAPPE steps aside, with balanced it uses what it learned, with power-saver one step less.\n"
        "systemd starts it (happe-power-profiles.service) when a desktop asks for it.",
        "happe-power-profiles");
    program.set_version_flag("--version", "happe-power-profiles " HAPPE_VERSION);
    program.add_option("--state", file, "The file of the chosen profile")->capture_default_str();
    program.footer(
        "Exit status: 0 ended by SIGTERM, 64 wrong usage, 75 no system bus, or another program has one of the names\n"
        "there. systemd starts it again after 75.");
    happe::add_description(program, {.section = 8,
                                     .version = HAPPE_VERSION,
                                     .more = "Files:\n"
                                             "  /var/lib/happe-power-profiles/profile  the profile that was chosen\n\n"
                                             "See also: happed(8), happectl(1)"});
    try {
        program.parse(argc, argv);
    } catch (const CLI::Success& help_or_version) {
        return program.exit(help_or_version);
    } catch (const CLI::ParseError& error) {
        return happe::complain({happe::usage_mistake(program, error)}, EX_USAGE);
    }
    return happe::run(file);
} catch (const std::exception& error) {
    return happe::complain({fmt::format("{}; please report this", error.what())}, EX_SOFTWARE);
}
