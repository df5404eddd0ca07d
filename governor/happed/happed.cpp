// SPDX-License-Identifier: GPL-2.0-or-later
// happed: the learning governor as a system service.
#include "governor/bus/bus.h"
#include "governor/cli/usage_mistake.h"
#include "governor/happed/configuration_file.h"
#include "governor/happed/daemon.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sysexits.h>
#include <systemd/sd-daemon.h>
#include <CLI/CLI.hpp>
#include <csignal>
#include <exception>

namespace happe {
namespace {

// Exit statuses are those of sysexits.h. After an error that only a person can correct, such as no cpufreq
// (EX_UNAVAILABLE) or a bad configuration (EX_CONFIG), systemd does not start happed again;
// packaging/systemd/happed.service names these statuses.

int complain(const Error& error, int status) {
    std::fputs(fmt::format("happed: {}\n", error.message).c_str(), stderr);
    return status;
}

Status end_at_signals(EventLoop& loop) {
    for (const int signal : {SIGTERM, SIGINT}) {
        if (const int status = sd_event_add_signal(loop.get(), nullptr, signal, nullptr, nullptr); status < 0) {
            return tl::unexpected<Error>(bus::error_of(status));
        }
    }
    return {};
}

// sd-bus has already detached from the loop.
int on_disconnected(sd_bus_message* /*message*/, void* loop, sd_bus_error* /*error*/) {
    return sd_event_exit(static_cast<EventLoop*>(loop)->get(), Daemon::kBusLost);
}

Result<bus::Connection> connect(EventLoop& loop) {
    bus::Connection connection;
    int status = bus::take(connection, [](sd_bus** raw) { return sd_bus_open_system(raw); });
    if (status >= 0) {
        status = sd_bus_attach_event(connection.get(), loop.get(), SD_EVENT_PRIORITY_NORMAL);
    }
    if (status >= 0) {
        status = sd_bus_match_signal(connection.get(), nullptr, nullptr, "/org/freedesktop/DBus/Local",
                                     "org.freedesktop.DBus.Local", "Disconnected", on_disconnected, &loop);
    }
    if (status < 0) {
        return failure("cannot reach the system bus: " + bus::error_of(status).message);
    }
    return connection;
}

// Runs from start to SIGTERM, or until happed must build everything again. Returns a Daemon::Exit, or a status of
// sysexits.h. Once happed runs, `tries` (to reach the bus) starts at 0 again.
int run_once(const DaemonFiles& files, Error& trouble, int& tries) {
    const auto loop = EventLoop::create();
    const Status ready = loop ? end_at_signals(**loop) : tl::unexpected<Error>(loop.error());
    if (!ready) {
        return complain(ready.error(), EX_OSERR);
    }
    const auto connection = connect(**loop);
    if (!connection) {
        trouble = connection.error();
        return Daemon::kBusLost;
    }
    const auto daemon = Daemon::start(**loop, connection->get(), files);
    if (!daemon && sd_bus_is_open(connection->get()) <= 0) {
        trouble = daemon.error().error;
        return Daemon::kBusLost;
    }
    if (!daemon) {
        return complain(daemon.error().error, daemon.error().exit);
    }
    tries = 0;
    sd_notify(0, "READY=1\nSTATUS=learns from two keys");
    const int exit = (*loop)->run();
    sd_notify(0, exit == Daemon::kStop ? "STOPPING=1" : "STATUS=waits for the system bus");
    if (const Status stopped = (*daemon)->stop(); !stopped) {
        return complain(stopped.error(), EX_IOERR);
    }
    return exit;
}

// Waits for a second. Returns at once, and true, when a signal asks happed to end.
bool told_to_end_while_waiting() {
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    const timespec second{.tv_sec = 1, .tv_nsec = 0};
    return sigtimedwait(&ends, nullptr, &second) > 0;
}

// While the bus restarts, happed cannot reach it for some time.
int run(const DaemonFiles& files) {
    constexpr int kMostTries = 30;
    Error trouble;
    int tries = 0;
    while (tries < kMostTries) {
        const int exit = run_once(files, trouble, tries);
        if (exit == Daemon::kBusLost) {
            ++tries;
            if (tries == 2) {
                static_cast<void>(complain(Error{trouble.message + "; happed tries again for half a minute"}, EX_OK));
            }
            if (told_to_end_while_waiting()) {
                return EX_OK;
            }
        } else {
            return exit;
        }
    }
    return complain(trouble, EX_TEMPFAIL);
}

// Raises the limit of open files to the administrator's maximum: happed keeps the policies' files open.
void lift_file_limit() {
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
        files.rlim_cur = files.rlim_max;
        static_cast<void>(::setrlimit(RLIMIT_NOFILE, &files));  // if this fails, happed opens them each time
    }
}

int restore(const DaemonFiles& files) {
    Cpupower cpufreq(files.cpus);
    const Status restored = restore_found(files.found, cpufreq);
    return restored ? EX_OK : complain(restored.error(), EX_IOERR);
}

int check(const DaemonFiles& files) {
    const auto configuration = load_configuration(files.configuration);
    return configuration ? EX_OK : complain(configuration.error(), EX_CONFIG);
}

void add_options(CLI::App& program, DaemonFiles& files) {
    program.add_option("--config", files.configuration, "The configuration file; it need not exist")
        ->capture_default_str();
    program.add_option("--database", files.database, "The file of profiles")->capture_default_str();
    program.add_option("--runs", files.runs, "The folder of study runs' traces")->capture_default_str();
    program.add_option("--device-key", files.device_key, "The file of this laptop's key for sealed runs")
        ->capture_default_str();
    program
        .add_option("--found", files.found, "The file in which happed notes the machine's state before it changes it")
        ->capture_default_str();
    program.add_option("--input", files.keys.devices, "The directory of input devices")->capture_default_str();
    program.add_option("--keys", files.keys.helper, "The socket of happed-keys")->capture_default_str();
    program.add_option("--seat", files.seat, "The seat whose user happed serves")->capture_default_str();
}

}  // namespace
}  // namespace happe

int main(int argc, char** argv) try {
    // Blocked for the whole run: the event loop receives them.
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
        "Serves the person at the machine. From two keys it learns, for each user and application, the lowest frequency\n"
        "that satisfies at each level of utilisation. systemd starts it (happed.service); happectl controls it.",
        "happed");
    program.set_version_flag("--version", "happed " HAPPE_VERSION);
    happe::add_options(program, files);
    program.add_flag("--restore", restore, "Restore what a killed happed has changed, and end");
    program.add_flag("--check", check, "Read the configuration, print its mistakes, and end");
    program.footer(
        "Signals: SIGHUP reads the configuration again; SIGTERM restores the kernel's governor and ends.\n\n"
        "Exit status: 0 done, 64 wrong usage, 69 no cpufreq, 74 cannot read or write a file, 75 no system bus, or no\n"
        "right to its name on the bus, 78 bad configuration. After any failure but 64, 69 and 78 systemd starts happed\n"
        "again.\n\n"
        "Files:\n"
        "  /etc/happe/happe.toml  the configuration, which explains every option\n"
        "  /var/lib/happe         profiles, the traces of study runs, this laptop's key\n"
        "  /run/happe/found.json  the machine's state before happed changed it\n\n"
        "See also: happectl(1)");
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
    happe::lift_file_limit();
    return check ? happe::check(files) : happe::run(files);
} catch (const std::exception& error) {
    return happe::complain({fmt::format("{}; please report this", error.what())}, EX_SOFTWARE);
}
