// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "governor/core/loop.h"
#include "governor/system/alarm.h"

#include <cstdint>
#include <functional>
#include <memory>

namespace happe {

// When the loop turns: at the end of each period and at a press, while turns are wanted; else the daemon sleeps. Owns
// the loop, and while there are turns systemd's watchdog wants a sign of life of each (sd_watchdog_enabled(3)).
class Turns {
public:
    struct Hooks {
        std::function<void(MonoTime)> before;  // may end the turns or set another loop: then this one is not made
        std::function<void(MonoTime)> after;
    };

    // An error if the event loop, which outlives it, takes no alarm.
    static Result<std::unique_ptr<Turns>> create(EventLoop& event, Hooks hooks);
    Turns(const Turns&) = delete;
    Turns& operator=(const Turns&) = delete;
    ~Turns() = default;

    // The turns from now on are another loop's; without turns it waits for begin().
    void set_loop(Ports ports, const LoopSettings& settings, MonoTime now);
    // Lets go of the loop, so that its ports may go. Call set_loop() next.
    void drop_loop() { loop_.reset(); }
    [[nodiscard]] bool has_loop() const { return loop_ != nullptr; }
    void profiles_changed() { loop_->profiles_changed(); }

    void begin(MonoTime now);
    void end();
    [[nodiscard]] bool on() const { return on_; }

    // One turn outside of the periods: with nobody served it restores the machine, or counts a press.
    void turn_once(MonoTime now) { loop_->turn(now); }

    // Call when a press waits in the loop's key source.
    void pressed(MonoTime now);

private:
    explicit Turns(Hooks hooks);
    void came_due(MonoTime now);
    void turn(MonoTime now);
    void tell_watchdog(MonoTime now);

    Hooks hooks_;
    std::unique_ptr<Alarm> alarm_;
    std::unique_ptr<Loop> loop_;
    Micros period_{0};
    bool on_ = false;
    std::uint64_t watchdog_usec_ = 0;  // 0: systemd keeps no watch
    MonoTime watchdog_told_;
};

}  // namespace happe
