// SPDX-License-Identifier: GPL-2.0-or-later
// The event loop: sd-event, and what of it HAPPE uses again and again.
#pragma once

#include "governor/core/result.h"
#include "governor/core/units.h"

#include <systemd/sd-event.h>
#include <functional>
#include <memory>

namespace happe {

class EventLoop {
public:
    [[nodiscard]] static Result<std::unique_ptr<EventLoop>> create();

    // sd-event counts relative times from its last run, so use an Alarm in callbacks.
    [[nodiscard]] sd_event* get() const { return event_.get(); }

    // Runs until sd_event_exit(3), and returns its code; or a negative errno.
    [[nodiscard]] int run() const { return sd_event_loop(event_.get()); }

private:
    struct Unref {
        void operator()(sd_event* event) const { sd_event_unref(event); }
    };

    explicit EventLoop(sd_event* event) : event_(event) {}

    std::unique_ptr<sd_event, Unref> event_;
};

// Disables the source before it drops the reference, so that its callback is not called again. The callback itself may
// destroy it.
struct DropEventSource {
    void operator()(sd_event_source* source) const { sd_event_source_disable_unref(source); }
};
using EventSource = std::unique_ptr<sd_event_source, DropEventSource>;

// A timer to set again and again. It is exact: sd-event may not let it come late to share a wake-up.
class Alarm {
public:
    // `loop` must outlive the alarm. `due` may set or cancel the alarm. Throws std::system_error.
    Alarm(EventLoop& loop, std::function<void()> due);
    Alarm(const Alarm&) = delete;
    Alarm& operator=(const Alarm&) = delete;
    ~Alarm() = default;

    // Calls `due` at this time of CLOCK_MONOTONIC, or at once if it has passed. Replaces the time set before.
    void set(MonoTime at);
    void cancel();

private:
    std::function<void()> due_;
    EventSource source_;
};

}  // namespace happe
