// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happed/contest_wait.h"

#include "governor/system/monotonic_clock.h"

#include <algorithm>

namespace happe {
namespace {

constexpr int kPeriodsBetweenLooks = 10;
constexpr int kLooksOfFirstWait = 3;
constexpr Micros kLongestWait = std::chrono::hours{1};

}  // namespace

ContestWait::ContestWait(EventLoop& event, std::function<std::string()> scene, std::function<void()> over)
    : scene_(std::move(scene)), over_(std::move(over)), alarm_(event, [this] { look(monotonic_now()); }) {}

void ContestWait::begin(MonoTime now, Micros period) {
    pause_ = kPeriodsBetweenLooks * period;
    const bool soon = ended_ && now - *ended_ < wait_;
    wait_ = soon ? std::min(2 * wait_, kLongestWait) : kLooksOfFirstWait * pause_;
    seen_ = scene_();
    quiet_since_ = now;
    alarm_.set(now + pause_);
}

void ContestWait::cancel() {
    alarm_.cancel();
    ended_.reset();
}

void ContestWait::look(MonoTime now) {
    if (std::string scene = scene_(); scene != seen_) {
        seen_ = std::move(scene);
        quiet_since_ = now;
    }
    if (now - quiet_since_ < wait_) {
        alarm_.set(now + pause_);
    } else {
        ended_ = now;
        over_();
    }
}

}  // namespace happe
