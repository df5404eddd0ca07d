// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happed/truce.h"

#include "governor/system/monotonic_clock.h"

#include <algorithm>

namespace happe {
namespace {

constexpr int kPeriodsBetweenLooks = 10;
constexpr int kLooksOfFirstWait = 3;
constexpr Micros kLongestWait = std::chrono::hours{1};

}  // namespace

Result<std::unique_ptr<Truce>> Truce::create(EventLoop& event, std::function<std::string()> scene,
                                             std::function<void()> over) {
    std::unique_ptr<Truce> truce(new Truce(std::move(scene), std::move(over)));
    auto alarm = Alarm::create(event, [self = truce.get()] { self->look(monotonic_now()); });
    if (!alarm) {
        return tl::unexpected<Error>(alarm.error());
    }
    truce->alarm_ = *std::move(alarm);
    return truce;
}

void Truce::begin(MonoTime now, Micros period) {
    pause_ = kPeriodsBetweenLooks * period;
    const bool soon = ended_ && now - *ended_ < wait_;
    wait_ = soon ? std::min(2 * wait_, kLongestWait) : kLooksOfFirstWait * pause_;
    seen_ = scene_();
    quiet_since_ = now;
    alarm_->set(now + pause_);
}

void Truce::cancel() {
    alarm_->cancel();
    ended_.reset();
}

void Truce::look(MonoTime now) {
    if (std::string scene = scene_(); scene != seen_) {
        seen_ = std::move(scene);
        quiet_since_ = now;
    }
    if (now - quiet_since_ < wait_) {
        alarm_->set(now + pause_);
    } else {
        ended_ = now;
        over_();
    }
}

}  // namespace happe
