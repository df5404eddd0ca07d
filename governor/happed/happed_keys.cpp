// SPDX-License-Identifier: GPL-2.0-or-later
// happed-keys: opens keyboards for happed, which has no right to open them. docs/daemon.md, "Two processes".
#include "governor/cli/usage_mistake.h"
#include "governor/happed/configuration_file.h"
#include "governor/keys/key_messages.h"
#include "governor/keys/key_service.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sysexits.h>
#include <unistd.h>
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>

namespace happe {
namespace {

constexpr timeval kPatience{.tv_sec = 5, .tv_usec = 0};  // for the client

struct Options {
    std::filesystem::path devices = "/dev/input";
    std::filesystem::path configuration = "/etc/happe/happe.toml";  // need not exist
};

int complain(const Error& error, int status) {
    std::fputs(fmt::format("happed-keys: {}\n", error.message).c_str(), stderr);
    return status;
}

Result<KeyBindings> configured_keys(const std::filesystem::path& path) {
    return load_configuration(path).and_then([](const Configuration& configuration) {
        return parse_key_bindings(configuration.performance_key, configuration.power_key);
    });
}

bool is_packet_socket(int file) {
    int type = 0;
    socklen_t length = sizeof(type);
    return ::getsockopt(file, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_SEQPACKET;
}

// Reads one request and answers it.
int serve(int socket, const Options& options) {
    if (!is_packet_socket(socket)) {
        return complain({"standard input is not a socket: do not run this program by hand. systemd starts it when\n"
                         "happed connects to /run/happe-keys.sock"},
                        EX_USAGE);
    }
    if (const Status allowed = check_key_peer(socket); !allowed) {
        return complain(allowed.error(), EX_NOPERM);
    }
    for (const int wait : {SO_RCVTIMEO, SO_SNDTIMEO}) {
        ::setsockopt(socket, SOL_SOCKET, wait, &kPatience, sizeof(kPatience));
    }
    const auto packet = receive_key_packet(socket);
    const auto request = packet.and_then([](const KeyPacket& it) { return parse_key_request(it.text); });
    if (!request) {
        static_cast<void>(send_key_packet(socket, to_string(KeyAnswer(Refusal{request.error().message}))));
        return complain(request.error(), EX_PROTOCOL);
    }
    KeyService service(options.devices, configured_keys(options.configuration));
    const Status answered = service.answer(socket, *request);
    return answered ? EX_OK : complain(answered.error(), EX_UNAVAILABLE);
}

void define(CLI::App& program, Options& options) {
    program.add_option("--config", options.configuration, "The configuration that names the two keys")
        ->capture_default_str();
    program.add_option("--input-dir", options.devices, "The directory of input devices")->capture_default_str();
    program.set_version_flag("--version", "happed-keys " HAPPE_VERSION);
    program.footer(
        "Exit status: 0 answered, 64 wrong usage, 69 a device or the configuration cannot be used, 76 the request is not\n"
        "one of happed's, 77 the client is neither root nor happed.");
}

}  // namespace
}  // namespace happe

int main(int argc, char** argv) try {
    CLI::App program(
        "happed-keys - opens keyboards for happed.\n\n"
        "systemd starts this program for each connection to /run/happe-keys.sock. It opens a keyboard that has one of the\n"
        "two configured keys, makes the kernel hide every other key, passes the open file to happed, and ends. It also\n"
        "waits for the key that an owner chooses, among keys that type no text.",
        "happed-keys");
    happe::Options options;
    happe::define(program, options);
    try {
        program.parse(argc, argv);
    } catch (const CLI::Success& help_or_version) {
        const int status = program.exit(help_or_version);
        return std::cout.flush() ? status : happe::complain({"standard output: cannot write"}, EX_IOERR);
    } catch (const CLI::ParseError& error) {
        return happe::complain({happe::usage_mistake(program, error)}, EX_USAGE);
    }
    return happe::serve(STDIN_FILENO, options);
} catch (const std::exception& error) {
    return happe::complain({fmt::format("{}; please report this", error.what())}, EX_SOFTWARE);
}
