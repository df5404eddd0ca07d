// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/system/event_loop.h"

#include <fmt/format.h>
#include <algorithm>
#include <system_error>
#include <utility>

namespace happe {

Result<std::unique_ptr<EventLoop>> EventLoop::create() {
    sd_event* event = nullptr;
    if (const int result = sd_event_new(&event); result < 0) {
        return failure(fmt::format("no event loop: {}", std::generic_category().message(-result)));
    }
    return std::unique_ptr<EventLoop>(new EventLoop(event));
}

Alarm::Alarm(EventLoop& loop, std::function<void()> due) : due_(std::move(due)) {
    constexpr std::uint64_t kAccuracy = 1;  // microseconds
    sd_event_source* source = nullptr;
    const int result = sd_event_add_time(
        loop.get(), &source, CLOCK_MONOTONIC, UINT64_MAX, kAccuracy,
        [](sd_event_source*, std::uint64_t, void* self) {
            static_cast<Alarm*>(self)->due_();
            return 0;
        },
        this);
    if (result < 0) {
        throw std::system_error(-result, std::generic_category(), "no timer");
    }
    source_.reset(source);
    cancel();
}

void Alarm::set(MonoTime at) {
    const auto usec = static_cast<std::uint64_t>(std::max(at.time_since_epoch(), Micros{0}).count());
    sd_event_source_set_time(source_.get(), usec);
    sd_event_source_set_enabled(source_.get(), SD_EVENT_ONESHOT);
}

void Alarm::cancel() {
    sd_event_source_set_enabled(source_.get(), SD_EVENT_OFF);
}

}  // namespace happe
