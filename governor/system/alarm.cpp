// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/system/alarm.h"

#include <sys/timerfd.h>
#include <algorithm>
#include <system_error>
#include <utility>

namespace happe {

Alarm::Alarm(EventLoop& loop, std::function<void()> due) : Watched(loop), due_(std::move(due)) {
    const int result = watch(FileDescriptor(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)));
    if (result < 0) {
        throw std::system_error(-result, std::generic_category(), "no timer");
    }
}

Result<std::unique_ptr<Alarm>> Alarm::create(EventLoop& loop, std::function<void()> due) try {
    return std::make_unique<Alarm>(loop, std::move(due));
} catch (const std::system_error& error) {
    return failure(error.what());
}

// Setting the timer also makes it unreadable, so nobody must read it.
void Alarm::set(MonoTime at) {
    const Micros since_boot = std::max(at.time_since_epoch(), Micros{1});  // zero would cancel
    const auto seconds = std::chrono::floor<std::chrono::seconds>(since_boot);
    const itimerspec spec{
        .it_interval = {},
        .it_value = {.tv_sec = seconds.count(), .tv_nsec = std::chrono::nanoseconds(since_boot - seconds).count()}};
    ::timerfd_settime(file(), TFD_TIMER_ABSTIME, &spec, nullptr);
    set_ = true;
}

void Alarm::cancel() {
    const itimerspec never{};
    ::timerfd_settime(file(), 0, &never, nullptr);
    set_ = false;
}

void Alarm::readable() {
    set_ = false;
    due_();
    if (!set_) {
        cancel();
    }
}

}  // namespace happe
