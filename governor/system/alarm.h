// SPDX-License-Identifier: GPL-2.0-or-later
// A time at which the event loop calls, set again and again: one system call each time it is set and none when it
// goes off. (A timer of sd-event's takes two, and puts the time off to share wake-ups.) sd-event knows nothing of it.
#pragma once

#include "governor/core/result.h"
#include "governor/core/units.h"
#include "governor/system/event_loop.h"

#include <functional>
#include <memory>

namespace happe {

class Alarm final : Watched {
public:
    // The loop must outlive it. `due` may set or cancel it.
    [[nodiscard]] static Result<std::unique_ptr<Alarm>> create(EventLoop& loop, std::function<void()> due);

    // By CLOCK_MONOTONIC; a time that has passed is now. In place of the time before.
    void set(MonoTime at);
    void cancel();

private:
    Alarm(EventLoop& loop, std::function<void()> due) : Watched(loop), due_(std::move(due)) {}
    void readable() override;

    std::function<void()> due_;
    bool set_ = false;
};

}  // namespace happe
