// SPDX-License-Identifier: GPL-2.0-or-later
// A timer of the event loop to set again and again. Setting it takes one system call, and its expiry none. (An sd-event
// timer takes two, and comes late to share wake-ups.) It works outside of sd-event.
#pragma once

#include "governor/core/result.h"
#include "governor/core/units.h"
#include "governor/system/event_loop.h"

#include <functional>
#include <memory>

namespace happe {

class Alarm final : Watched {
public:
    // `loop` must outlive the alarm. `due` may set or cancel the alarm. The constructor throws std::system_error if the
    // kernel has no timer left; create() returns that.
    Alarm(EventLoop& loop, std::function<void()> due);
    [[nodiscard]] static Result<std::unique_ptr<Alarm>> create(EventLoop& loop, std::function<void()> due);

    // Calls `due` at this time of CLOCK_MONOTONIC, or at once if it has passed. Replaces the time set before.
    void set(MonoTime at);
    void cancel();

private:
    void readable() override;

    std::function<void()> due_;
    bool set_ = false;
};

}  // namespace happe
