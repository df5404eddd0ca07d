// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/system/alarm.h"

#include "governor/system/event_loop_fixture.h"
#include "governor/system/monotonic_clock.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <cerrno>
#include <system_error>

namespace happe {
namespace {

using namespace std::chrono_literals;

class AnAlarm : public LoopFixture {
protected:
    AnAlarm() {
        auto created = Alarm::create(loop, [this] { went_off(); });
        alarm = std::move(*created);
    }
    void went_off() {
        times.push_back(monotonic_now());
        if (then) {
            then();
        }
    }

    std::vector<MonoTime> times;
    std::function<void()> then;
    std::unique_ptr<Alarm> alarm;
};

TEST_F(AnAlarm, GoesOffOnceAndNotBeforeItsTime) {
    const MonoTime at = monotonic_now() + 20ms;
    alarm->set(at);

    EXPECT_TRUE(runs_until([&] { return times.size() == 1; }));
    EXPECT_GE(times.front(), at);
    runs();
    EXPECT_EQ(times.size(), 1U);
}

TEST_F(AnAlarm, ATimeThatHasPassedIsNow) {
    for (const MonoTime past : {monotonic_now() - 1h, MonoTime(), MonoTime(-5s)}) {
        times.clear();
        alarm->set(past);
        EXPECT_TRUE(runs_until([&] { return times.size() == 1; }));
    }
}

TEST_F(AnAlarm, IsSetInPlaceOfTheTimeBefore) {
    const MonoTime later = monotonic_now() + 30ms;
    alarm->set(monotonic_now());
    alarm->set(later);

    EXPECT_TRUE(runs_until([&] { return times.size() == 1; }));
    EXPECT_GE(times.front(), later);
}

TEST_F(AnAlarm, CanBeSetFromItsOwnCall) {
    then = [this] {
        if (times.size() < 5) {
            alarm->set(times.back() + 1ms);
        }
    };
    alarm->set(monotonic_now());

    EXPECT_TRUE(runs_until([&] { return times.size() == 5; }));
    runs();
    EXPECT_EQ(times.size(), 5U);
}

TEST_F(AnAlarm, IsSilentAfterItIsCancelledOrGone) {
    alarm->set(monotonic_now());
    alarm->cancel();
    runs();
    EXPECT_TRUE(times.empty());

    alarm->set(monotonic_now());
    alarm.reset();
    runs();
    EXPECT_TRUE(times.empty());
}

TEST_F(AnAlarm, WithoutADescriptorThereIsAnError) {
    // Once before: without a descriptor UBSan cannot look at types that are new to it.
    ASSERT_TRUE(Alarm::create(loop, [] {}));
    (void)fmt::format("no timer: {}", std::generic_category().message(EMFILE));
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    const auto created = Alarm::create(loop, [] {});
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);

    ASSERT_FALSE(created);
    EXPECT_EQ(created.error().message, "no timer: Too many open files");
}

}  // namespace
}  // namespace happe
