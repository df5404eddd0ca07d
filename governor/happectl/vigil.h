// SPDX-License-Identifier: GPL-2.0-or-later
// Waits for a signal, a command's end, a change or the end of the daemon, or a time.
#pragma once

#include "governor/core/units.h"
#include "governor/happectl/child.h"
#include "governor/happectl/daemon_proxy.h"
#include "governor/system/file_descriptor.h"

#include <array>
#include <csignal>
#include <span>

namespace happe::ctl {

// Connects `daemon` again when the bus was gone. During its life, these signals become events and do not end the
// process, and a closed pipe is an error of write().
class Vigil {
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

    Vigil(DaemonProxy& daemon, std::span<const int> signals);
    Vigil(const Vigil&) = delete;
    Vigil& operator=(const Vigil&) = delete;
    ~Vigil();

    [[nodiscard]] Event wait(MonoTime until, const Child* child = nullptr);
    [[nodiscard]] int signal() const { return signal_; }

    // Sends the last signal to the command, unless it came from a key: Ctrl-C reaches the command by itself.
    void pass_signal_to(const Child& child) const;

    // The signals that a command started now should block.
    [[nodiscard]] const sigset_t& found_mask() const { return found_; }

private:
    static int changed(sd_bus_message* message, void* self, sd_bus_error* error);
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
    bool left_ = false;
    bool returned_ = false;
    bool broken_ = false;
    int signal_ = 0;
    bool from_key_ = false;
};

}  // namespace happe::ctl
