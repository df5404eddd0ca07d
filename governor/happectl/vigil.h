// SPDX-License-Identifier: GPL-2.0-or-later
// Waiting, for commands that take a while: for a signal, a command's end, the daemon's changes and its leaving, a time.
#pragma once

#include "governor/core/units.h"
#include "governor/happectl/child.h"
#include "governor/happectl/daemon_proxy.h"
#include "governor/system/file_descriptor.h"

#include <array>
#include <csignal>
#include <span>

namespace happe::ctl {

// While it lives these signals are events and end nothing, and a closed pipe is an error of write().
class Vigil {
public:
    enum class Event : std::uint8_t {
        Time,      // it is late
        Changed,   // a property changed or a key counted
        Left,      // the daemon left the bus, or the bus is gone
        Returned,  // the daemon is there again
        Signal,    // signal() says which
        Ended,     // the command
    };

    static constexpr std::array kEndings = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

    Vigil(DaemonProxy& daemon, std::span<const int> signals);
    Vigil(const Vigil&) = delete;
    Vigil& operator=(const Vigil&) = delete;
    ~Vigil();

    [[nodiscard]] Event wait(MonoTime until, const Child* child = nullptr);
    [[nodiscard]] int signal() const { return signal_; }

    // A key such as Ctrl-C sends its signal to the command too; passes on what nobody else has.
    void pass_signal_to(const Child& child) const;

    // What a command started now should have blocked.
    [[nodiscard]] const sigset_t& found_mask() const { return found_; }

private:
    static int changed(sd_bus_message* message, void* self, sd_bus_error* error);
    static int owner_changed(sd_bus_message* message, void* self, sd_bus_error* error);

    [[nodiscard]] bool take_bus_event(Event& event);
    [[nodiscard]] bool take_signal();
    void poll(MonoTime until, const Child* child, bool& ended);

    sd_bus* bus_;
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
