// SPDX-License-Identifier: GPL-2.0-or-later
// The event loop: sd-event, and around it a wait for alarms (alarm.h). On a quiet machine only the alarm of the sample
// goes off, and then no code of sd-event or sd-bus runs: docs/adr/0065-alarms-outside-of-sd-event.md.
#pragma once

#include "governor/core/result.h"
#include "governor/system/file_descriptor.h"

#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>
#include <memory>

namespace happe {

class Alarm;

class EventLoop {
public:
    [[nodiscard]] static Result<std::unique_ptr<EventLoop>> create();
    EventLoop(const EventLoop&) = delete;
    EventLoop& operator=(const EventLoop&) = delete;
    ~EventLoop() = default;

    // For a call of sd-event's. Do not keep it: what is called may need sd-event to prepare again. A relative time of
    // sd-event's counts from when sd-event last had something to do; an alarm's call sets an alarm instead.
    [[nodiscard]] sd_event* get() {
        touched_ = true;
        return event_.get();
    }

    // The only bus, which outlives each run of the loop. A negative errno if it cannot be attached.
    [[nodiscard]] int attach(sd_bus* bus);

    // Until sd_event_exit(3), whose code it returns, or a negative errno.
    [[nodiscard]] int run();

    // One turn, as sd_event_run(3), with the alarms that go off before it. -1 waits without end.
    [[nodiscard]] int run_once(int most_ms);

private:
    friend Alarm;
    struct Unref {
        void operator()(sd_event* event) const { sd_event_unref(event); }
    };

    EventLoop() = default;
    [[nodiscard]] int watch(int descriptor, Alarm* alarm);  // until it is closed
    void wait(int most_ms);
    [[nodiscard]] bool is_undisturbed() const;

    std::unique_ptr<sd_event, Unref> event_;
    FileDescriptor both_;  // epoll of the alarms and of sd-event's own epoll
    sd_bus* bus_ = nullptr;
    bool touched_ = false;
};

// Disabled as it goes: its callback isn't called again, whatever else still refers to it. May go in its own callback.
struct DropEventSource {
    void operator()(sd_event_source* source) const { sd_event_source_disable_unref(source); }
};
using EventSource = std::unique_ptr<sd_event_source, DropEventSource>;

}  // namespace happe
