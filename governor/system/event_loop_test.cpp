// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/system/event_loop.h"
#include "governor/system/event_loop_fixture.h"
#include "governor/system/monotonic_clock.h"

namespace happe {
namespace {

using namespace std::chrono_literals;

class AnAlarm : public LoopFixture {
protected:
    int alarms = 0;
    std::function<void()> then = [] {};
    std::unique_ptr<Alarm> alarm = std::make_unique<Alarm>(loop, [this] {
        ++alarms;
        then();
    });
};

TEST_F(AnAlarm, GoesOffOnceAndNotBeforeItsLastTime) {
    const MonoTime at = monotonic_now() + 20ms;
    alarm->set(monotonic_now());
    alarm->set(at);

    EXPECT_TRUE(runs_until([&] { return alarms == 1; }));
    EXPECT_GE(monotonic_now(), at);
    runs();
    EXPECT_EQ(alarms, 1);
}

TEST_F(AnAlarm, GoesOffAtOnceIfItsTimeHasPassed) {
    for (const MonoTime past : {monotonic_now() - 1h, MonoTime(), MonoTime(-5s)}) {
        alarms = 0;
        alarm->set(past);
        EXPECT_TRUE(runs_until([&] { return alarms == 1; }));
    }
}

TEST_F(AnAlarm, CanBeSetFromItsOwnCallUntilItEndsTheLoop) {
    then = [this] {
        if (alarms < 20) {
            alarm->set(monotonic_now() + 1ms);
        } else {
            sd_event_exit(loop.get(), 7);
        }
    };
    alarm->set(monotonic_now());

    EXPECT_EQ(loop.run(), 7);
    EXPECT_EQ(alarms, 20);
}

TEST_F(AnAlarm, IsSilentAfterItIsCancelledOrGone) {
    alarm->set(monotonic_now());
    alarm->cancel();
    runs();
    EXPECT_EQ(alarms, 0);

    alarm->set(monotonic_now());
    alarm.reset();
    runs();
    EXPECT_EQ(alarms, 0);
}

}  // namespace
}  // namespace happe
