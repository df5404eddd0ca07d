// SPDX-License-Identifier: GPL-2.0-or-later
// The event loop: sd-event, and around it a wait for what is watched outside of it: alarms and keyboards. While only
// these have something to say, sd-event does not run: docs/adr/0065-alarms-and-keys-outside-of-sd-event.md.
#pragma once

#include "governor/core/result.h"
#include "governor/system/file_descriptor.h"

#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>
#include <memory>

namespace happe {

class Watched;

class EventLoop {
public:
    [[nodiscard]] static Result<std::unique_ptr<EventLoop>> create();
    EventLoop(const EventLoop&) = delete;
    EventLoop& operator=(const EventLoop&) = delete;
    ~EventLoop() = default;

    // For a call of sd-event's. Do not keep it: what is called may need sd-event to prepare again. A relative time of
    // sd-event's counts from when sd-event last had something to do; Watched::readable() sets an alarm instead.
    [[nodiscard]] sd_event* get() {
        touched_ = true;
        return event_.get();
    }

    // The only bus, which outlives each run of the loop. A negative errno if it cannot be attached.
    [[nodiscard]] int attach(sd_bus* bus);

    // Until sd_event_exit(3), whose code it returns, or a negative errno.
    [[nodiscard]] int run();

    // One turn, as sd_event_run(3), with what is watched outside of sd-event and ready before it. -1 waits without end.
    [[nodiscard]] int run_once(int most_ms);

private:
    friend Watched;
    struct Unref {
        void operator()(sd_event* event) const { sd_event_unref(event); }
    };

    EventLoop() = default;
    [[nodiscard]] int watch(int descriptor, Watched* whose);  // null: sd-event's own
    void wait(int most_ms);
    [[nodiscard]] bool is_undisturbed() const;

    std::unique_ptr<sd_event, Unref> event_;
    FileDescriptor both_;  // epoll of what is watched, and of sd-event's own epoll
    sd_bus* bus_ = nullptr;
    bool touched_ = false;
};

// A descriptor that the loop watches outside of sd-event, as long as this lives. The loop must outlive it.
class Watched {
public:
    Watched(const Watched&) = delete;
    Watched& operator=(const Watched&) = delete;

protected:
    explicit Watched(EventLoop& loop) : loop_(loop) {}
    virtual ~Watched();

    // Takes it. If it is none, errno must say why. A negative errno if it is not watched.
    [[nodiscard]] int watch(FileDescriptor file);
    [[nodiscard]] int file() const { return file_.get(); }

private:
    friend EventLoop;
    // The loop calls it again and again while there is something to read. May destroy this.
    virtual void readable() = 0;

    EventLoop& loop_;
    FileDescriptor file_;
};

// Disabled as it goes: its callback isn't called again, whatever else still refers to it. May go in its own callback.
struct DropEventSource {
    void operator()(sd_event_source* source) const { sd_event_source_disable_unref(source); }
};
using EventSource = std::unique_ptr<sd_event_source, DropEventSource>;

}  // namespace happe
