// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happed/loop_timer.h"

#include "governor/system/monotonic_clock.h"

#include <systemd/sd-daemon.h>
#include <utility>

namespace happe {

LoopTimer::LoopTimer(EventLoop& event, Hooks hooks)
    : hooks_(std::move(hooks)), alarm_(event, [this] { came_due(monotonic_now()); }) {
    if (sd_watchdog_enabled(0, &watchdog_usec_) > 0) {
        sd_notify(0, "WATCHDOG_USEC=0");  // systemd begins with the watchdog on
    }
}

void LoopTimer::set_loop(Ports ports, const LoopSettings& settings, MonoTime now) {
    loop_ = std::make_unique<Loop>(ports, settings, now);
    period_ = settings.period;
    if (on_) {
        alarm_.set(loop_->due());
    }
}

void LoopTimer::begin(MonoTime now) {
    on_ = true;
    loop_->begin(now);
    if (watchdog_usec_ > 0) {
        sd_notifyf(0, "WATCHDOG_USEC=%llu", static_cast<unsigned long long>(watchdog_usec_));
        watchdog_told_ = {};
    }
    alarm_.set(loop_->due());
}

void LoopTimer::end() {
    on_ = false;
    alarm_.cancel();
    if (watchdog_usec_ > 0) {
        sd_notify(0, "WATCHDOG_USEC=0");
    }
}

void LoopTimer::pressed(MonoTime now) {
    loop_->pressed(now);
    if (on_) {
        came_due(now);
    } else {
        turn_once(now);
    }
}

void LoopTimer::came_due(MonoTime now) {
    if (now >= loop_->due()) {
        turn(now);
    } else {
        alarm_.set(loop_->due());
    }
}

void LoopTimer::turn(MonoTime now) {
    hooks_.before(now);
    if (!on_ || now < loop_->due()) {  // the hook has ended the turns or set another loop
        return;
    }
    loop_->turn(now);
    tell_watchdog(now);
    hooks_.after(now);
    alarm_.set(loop_->due());
}

// Sends the watchdog a message before half of its time has passed. The message costs more than a sample, so most turns
// send none.
void LoopTimer::tell_watchdog(MonoTime now) {
    if (watchdog_usec_ > 0 && now + period_ - watchdog_told_ > Micros(watchdog_usec_ / 2)) {
        sd_notify(0, "WATCHDOG=1");
        watchdog_told_ = now;
    }
}

}  // namespace happe
