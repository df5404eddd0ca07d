// SPDX-License-Identifier: GPL-2.0-or-later
// The event loop: sd-event, and around it a wait for sd-event and for alarms and keyboards. If only alarms or keyboards
// are ready, sd-event does not run: docs/decisions.md.
#pragma once

#include "governor/core/result.h"
#include "governor/core/units.h"
#include "governor/system/file_descriptor.h"

#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>
#include <functional>
#include <memory>

namespace happe {

class Watched;

class EventLoop {
public:
    [[nodiscard]] static Result<std::unique_ptr<EventLoop>> create();
    EventLoop(const EventLoop&) = delete;
    EventLoop& operator=(const EventLoop&) = delete;
    ~EventLoop() = default;

    // For one call of an sd-event function. Do not keep the pointer: get() also notes that sd-event must prepare again.
    // sd-event counts relative times from its last run, so use an Alarm in Watched::readable().
    [[nodiscard]] sd_event* get() {
        touched_ = true;
        return event_.get();
    }

    // Attaches the only bus, which must outlive each run of the loop. A negative errno if this fails.
    [[nodiscard]] int attach(sd_bus* bus);

    // Runs until sd_event_exit(3), and returns its code; or a negative errno.
    [[nodiscard]] int run();

    // One turn, like sd_event_run(3). First calls those outside of sd-event that are ready. -1 waits without a limit.
    [[nodiscard]] int run_once(int most_ms);

private:
    friend Watched;
    struct Unref {
        void operator()(sd_event* event) const { sd_event_unref(event); }
    };

    EventLoop() = default;
    [[nodiscard]] int watch(int descriptor, Watched* whose);  // null: the epoll descriptor of sd-event
    void wait(int most_ms);
    [[nodiscard]] bool is_undisturbed() const;

    std::unique_ptr<sd_event, Unref> event_;
    FileDescriptor both_;  // epoll of the Watched objects, and of sd-event's own epoll
    sd_bus* bus_ = nullptr;
    bool touched_ = false;
};

// A descriptor that the loop watches outside of sd-event for as long as this object lives. The loop must outlive it.
class Watched {
public:
    Watched(const Watched&) = delete;
    Watched& operator=(const Watched&) = delete;

protected:
    explicit Watched(EventLoop& loop) : loop_(loop) {}
    virtual ~Watched();

    // Takes and watches the descriptor. If it is invalid, errno must say why. A negative errno on failure.
    [[nodiscard]] int watch(FileDescriptor file);
    [[nodiscard]] int file() const { return file_.get(); }

private:
    friend EventLoop;
    // The loop calls this for as long as there is something to read. May destroy the object.
    virtual void readable() = 0;

    EventLoop& loop_;
    FileDescriptor file_;
};

// Disables the source before it drops the reference, so that its callback is not called again. The callback itself may
// destroy it.
struct DropEventSource {
    void operator()(sd_event_source* source) const { sd_event_source_disable_unref(source); }
};
using EventSource = std::unique_ptr<sd_event_source, DropEventSource>;

// A timer of the event loop to set again and again. Setting it takes one system call, and its expiry none. (An sd-event
// timer takes two, and comes late to share wake-ups.) It works outside of sd-event.
class Alarm final : Watched {
public:
    // `loop` must outlive the alarm. `due` may set or cancel the alarm. Throws std::system_error if the kernel has no
    // timer left.
    Alarm(EventLoop& loop, std::function<void()> due);

    // Calls `due` at this time of CLOCK_MONOTONIC, or at once if it has passed. Replaces the time set before.
    void set(MonoTime at);
    void cancel();

private:
    void readable() override;

    std::function<void()> due_;
    bool set_ = false;
};

}  // namespace happe
