// SPDX-License-Identifier: GPL-2.0-or-later
// happed: the learning governor as a system service.
#include "governor/bus/bus.h"
#include "governor/cli/description.h"
#include "governor/cli/usage_mistake.h"
#include "governor/happed/configuration_file.h"
#include "governor/happed/daemon.h"

#include <fmt/format.h>
#include <sysexits.h>
#include <systemd/sd-daemon.h>
#include <CLI/CLI.hpp>
#include <csignal>
#include <exception>

namespace happe {
namespace {

// sysexits.h: systemd does not start it again after these two (packaging/systemd/happed.service).
constexpr int kBadConfiguration = EX_CONFIG;
constexpr int kNoCpufreq = EX_UNAVAILABLE;

int complain(const Error& error, int status) {
    std::fputs(fmt::format("happed: {}\n", error.message).c_str(), stderr);
    return status;
}

Result<EventLoop> new_event_loop() {
    sd_event* loop = nullptr;
    int status = sd_event_new(&loop);
    EventLoop owned(loop);
    for (const int signal : {SIGTERM, SIGINT}) {
        if (status >= 0) {
            status = sd_event_add_signal(loop, nullptr, signal, nullptr, nullptr);  // ends the loop
        }
    }
    return status < 0 ? Result<EventLoop>(tl::unexpected<Error>(bus::error_of(status))) : std::move(owned);
}

int on_disconnected(sd_bus_message* /*message*/, void* loop, sd_bus_error* /*error*/) {
    return sd_event_exit(static_cast<sd_event*>(loop), Daemon::kBusLost);
}

Result<bus::Connection> connect(sd_event* loop) {
    bus::Connection connection;
    int status = bus::take(connection, [](sd_bus** raw) { return sd_bus_open_system(raw); });
    if (status >= 0) {
        status = sd_bus_attach_event(connection.get(), loop, SD_EVENT_PRIORITY_NORMAL);
    }
    if (status >= 0) {
        status = sd_bus_match_signal(connection.get(), nullptr, nullptr, "/org/freedesktop/DBus/Local",
                                     "org.freedesktop.DBus.Local", "Disconnected", on_disconnected, loop);
    }
    if (status < 0) {
        return failure("cannot reach the system bus: " + bus::error_of(status).message);
    }
    return connection;
}

// From start to SIGTERM, or until everything must be made anew: Daemon::Exit, or sysexits.h.
// `tries` to reach the bus are counted anew once it runs.
int run_once(const DaemonFiles& files, Error& trouble, int& tries) {
    const auto loop = new_event_loop();
    if (!loop) {
        return complain(loop.error(), EX_OSERR);
    }
    const auto connection = connect(loop->get());
    if (!connection) {
        trouble = connection.error();
        return Daemon::kBusLost;
    }
    const auto daemon = Daemon::start(loop->get(), connection->get(), files);
    if (!daemon && sd_bus_is_open(connection->get()) <= 0) {
        trouble = daemon.error();
        return Daemon::kBusLost;
    }
    if (!daemon) {
        return complain(daemon.error(), load_configuration(files.configuration) ? kNoCpufreq : kBadConfiguration);
    }
    tries = 0;
    sd_notify(0, "READY=1\nSTATUS=learns from two keys");
    const int exit = sd_event_loop(loop->get());
    sd_notify(0, exit == Daemon::kStop ? "STOPPING=1" : "STATUS=waits for the system bus");
    if (const Status stopped = (*daemon)->stop(); !stopped) {
        return complain(stopped.error(), EX_IOERR);
    }
    return exit;
}

// A second, or less if this process is to end.
bool told_to_end_while_waiting() {
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    const timespec second{.tv_sec = 1, .tv_nsec = 0};
    return sigtimedwait(&ends, nullptr, &second) > 0;
}

// The bus may be away for a while as it restarts.
int run(const DaemonFiles& files) {
    constexpr int kMostTries = 30;
    Error trouble;
    int tries = 0;
    while (tries < kMostTries) {
        const int exit = run_once(files, trouble, tries);
        if (exit == Daemon::kBusLost) {
            ++tries;
            if (told_to_end_while_waiting()) {
                return EX_OK;
            }
        } else {
            return exit;
        }
    }
    return complain(trouble, EX_UNAVAILABLE);
}

int restore(const DaemonFiles& files) {
    Cpupower cpufreq(files.cpus);
    const Status restored = restore_found(files.found, cpufreq);
    return restored ? EX_OK : complain(restored.error(), EX_IOERR);
}

int check(const DaemonFiles& files) {
    const auto configuration = load_configuration(files.configuration);
    return configuration ? EX_OK : complain(configuration.error(), kBadConfiguration);
}

void add_options(CLI::App& program, DaemonFiles& files) {
    program.add_option("--config", files.configuration, "The configuration; need not exist")->capture_default_str();
    program.add_option("--database", files.database, "Where profiles are kept")->capture_default_str();
    program.add_option("--runs", files.runs, "Where study runs leave their traces")->capture_default_str();
    program.add_option("--device-key", files.device_key, "Where this laptop's key for sealed runs is kept")
        ->capture_default_str();
    program.add_option("--found", files.found, "Where it is kept what was found on the machine")->capture_default_str();
    program.add_option("--cpus", files.cpus, "The kernel's directory of CPUs")->capture_default_str();
    program.add_option("--input", files.keys.devices, "The directory of input devices")->capture_default_str();
    program.add_option("--keys", files.keys.helper, "The socket of happed-keys")->capture_default_str();
    program.add_option("--seat", files.seat, "The seat that is served")->capture_default_str();
}

}  // namespace
}  // namespace happe

int main(int argc, char** argv) try {
    // Blocked for good: the event loop takes them.
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
        sigaddset(&signals, signal);
    }
    sigprocmask(SIG_BLOCK, &signals, nullptr);

    happe::DaemonFiles files;
    bool restore = false;
    bool check = false;
    CLI::App program(
        "happed - the learning CPU frequency governor, as a system service.\n\n"
        "Serves the person at the machine: learns from two keys, for each user and application, the lowest frequency\n"
        "that satisfies at each level of utilisation. Started by systemd (happed.service); happectl talks to it.",
        "happed");
    program.set_version_flag("--version", "happed " HAPPE_VERSION);
    happe::add_options(program, files);
    program.add_flag("--restore", restore, "Give back what a killed happed has changed, and end");
    program.add_flag("--check", check, "Read the configuration, say what is wrong with it, and end");
    program.footer(
        "Signals: SIGHUP reads the configuration anew; SIGTERM gives the machine back and ends.\n\n"
        "Exit status: 0 done, 64 wrong usage, 69 no cpufreq or no system bus, 74 cannot write, 78 bad configuration.");
    happe::add_description(program, {.section = 8,
                                     .version = HAPPE_VERSION,
                                     .more = "Files:\n"
                                             "  /etc/happe/happe.toml  the configuration\n"
                                             "  /var/lib/happe  profiles, the traces of study runs, this laptop's key\n"
                                             "  /run/happe/found.json  what was found on the machine\n\n"
                                             "See also: happectl(1), happe.toml(5), happed-keys(8)"});
    try {
        program.parse(argc, argv);
    } catch (const CLI::Success& help_or_version) {
        return program.exit(help_or_version);
    } catch (const CLI::ParseError& error) {
        return happe::complain({happe::usage_mistake(program, error)}, EX_USAGE);
    }
    if (restore) {
        return happe::restore(files);
    }
    return check ? happe::check(files) : happe::run(files);
} catch (const std::exception& error) {
    return happe::complain({fmt::format("{}; please report this", error.what())}, EX_SOFTWARE);
}
