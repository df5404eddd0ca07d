// SPDX-License-Identifier: GPL-2.0-or-later
// A command that happectl starts and waits for.
#pragma once

#include "governor/core/units.h"
#include "governor/happectl/bus.h"
#include "governor/happectl/outcome.h"
#include "governor/system/file_descriptor.h"

#include <sys/types.h>
#include <array>
#include <csignal>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace happe::ctl {

class Child {
public:
    // Exit statuses if the command cannot run, as in shells.
    static constexpr int kNotFound = 127;
    static constexpr int kNotExecutable = 126;

    // Starts the command, found in PATH, with these signals blocked and with happectl's standard input and output. With
    // `output` it has no input, and writes there.
    static Outcome<Child> start(const std::vector<std::string>& command, const sigset_t& blocked,
                                std::optional<int> output = {});

    void tell(int signal) const;

    // Waits for the command's end. Returns its exit status, or 128 + N if signal N ended it.
    [[nodiscard]] int wait() const;

    // Readable when the command has ended.
    [[nodiscard]] int descriptor() const { return pidfd_.get(); }

private:
    Child(pid_t pid, FileDescriptor pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}

    pid_t pid_;
    FileDescriptor pidfd_;
};

// Waits for a signal, a command's end, a change or the end of the daemon, or a time.

// Connects `daemon` again when the bus was gone. During its life, these signals become events and do not end the
// process, and a closed pipe is an error of write().
class Waiter {
public:
    enum class Event : std::uint8_t {
        Time,      // the time has come
        Changed,   // a property changed or a key counted
        Left,      // the daemon left the bus, or the bus is gone
        Returned,  // the daemon is on the bus again
        Signal,    // signal() says which
        Ended,     // the command has ended
    };

    static constexpr std::array kEndings = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

    Waiter(DaemonProxy& daemon, std::span<const int> signals);
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;
    ~Waiter();

    [[nodiscard]] Event wait(MonoTime until, const Child* child = nullptr);
    [[nodiscard]] int signal() const { return signal_; }
    [[nodiscard]] bool has_counted() const { return counted_; }  // a key has

    // Sends the last signal to the command, unless it came from a key: Ctrl-C reaches the command by itself.
    void pass_signal_to(const Child& child) const;

    // The signals that a command started now should block.
    [[nodiscard]] const sigset_t& found_mask() const { return found_; }

private:
    static int changed(sd_bus_message* message, void* self, sd_bus_error* error);
    static int counted(sd_bus_message* message, void* self, sd_bus_error* error);
    static int owner_changed(sd_bus_message* message, void* self, sd_bus_error* error);

    void listen();
    void connect_again();
    [[nodiscard]] bool take_bus_event(Event& event);
    [[nodiscard]] bool take_signal();
    void poll(MonoTime until, const Child* child, bool& ended);

    DaemonProxy& daemon_;
    Slot properties_;
    Slot keys_;
    Slot owner_;
    sigset_t found_{};
    FileDescriptor signals_;
    void (*found_pipe_)(int);
    bool changed_ = false;
    bool counted_ = false;
    bool left_ = false;
    bool returned_ = false;
    bool broken_ = false;
    int signal_ = 0;
    bool from_key_ = false;
};

}  // namespace happe::ctl
