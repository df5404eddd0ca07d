// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "governor/core/loop.h"
#include "governor/system/event_loop.h"

#include <cstdint>
#include <functional>
#include <memory>

namespace happe {

// Owns the loop and turns it at the end of each period and at a press, from begin() until end(). Meanwhile it also
// sends systemd's watchdog its messages (sd_watchdog_enabled(3)).
class LoopTimer {
public:
    struct Hooks {
        std::function<void(MonoTime)> before;  // may end the turns or set another loop, which cancels this turn
        std::function<void(MonoTime)> after;
    };

    // Throws std::system_error if there is no timer left. `event` must outlive the object. Call set_loop() next.
    LoopTimer(EventLoop& event, Hooks hooks);
    LoopTimer(const LoopTimer&) = delete;
    LoopTimer& operator=(const LoopTimer&) = delete;
    ~LoopTimer() = default;

    // Replaces the loop. If turns are off, the new one waits for begin().
    void set_loop(Ports ports, const LoopSettings& settings, MonoTime now);
    // Destroys the loop, so that the caller may destroy its ports. Call set_loop() next.
    void drop_loop() { loop_.reset(); }
    [[nodiscard]] bool has_loop() const { return loop_ != nullptr; }
    void profiles_changed() { loop_->profiles_changed(); }

    void begin(MonoTime now);
    void end();
    [[nodiscard]] bool on() const { return on_; }

    // Makes one turn outside of the periods. If happed serves nobody, the turn restores the machine and counts a press.
    void turn_once(MonoTime now) { loop_->turn(now); }

    // Call when a press waits in the loop's key source.
    void pressed(MonoTime now);

private:
    void came_due(MonoTime now);
    void turn(MonoTime now);
    void tell_watchdog(MonoTime now);

    Hooks hooks_;
    Alarm alarm_;
    std::unique_ptr<Loop> loop_;
    Micros period_{0};
    bool on_ = false;
    std::uint64_t watchdog_usec_ = 0;  // 0: systemd has no watchdog for happed
    MonoTime watchdog_told_;
};

}  // namespace happe
