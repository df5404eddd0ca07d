// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/system/event_loop.h"
#include "governor/system/event_loop_fixture.h"
#include "governor/system/monotonic_clock.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <array>
#include <csignal>
#include <string>

namespace happe {
namespace {

using namespace std::chrono_literals;

class TheEventLoop : public LoopFixture {
protected:
    TheEventLoop() {
        alarm = std::make_unique<Alarm>(loop, [this] {
            ++alarms;
            then();
        });
    }
    void again() { alarm->set(monotonic_now() + 1ms); }
    std::uint64_t turns_of_sd_event() const {
        std::uint64_t turns = 0;
        EXPECT_GE(sd_event_get_iteration(event, &turns), 0);
        return turns;
    }

    sd_event* event = loop.get();
    int alarms = 0;
    std::function<void()> then = [] {};
    std::unique_ptr<Alarm> alarm;
};

TEST_F(TheEventLoop, LeavesSdEventAloneWhileOnlyAlarmsGoOff) {
    runs();
    const std::uint64_t before = turns_of_sd_event();
    then = [this] {
        if (alarms < 20) {
            again();
        } else {
            sd_event_exit(loop.get(), 7);
        }
    };
    again();

    EXPECT_EQ(loop.run(), 7) << "what an alarm's call asks of sd-event is done";
    EXPECT_EQ(alarms, 20);
    EXPECT_EQ(turns_of_sd_event(), before + 1);
}

TEST_F(TheEventLoop, ServesWhatAnAlarmsCallGivesSdEvent) {
    std::string served;
    const auto serve = [](sd_event_source* /*source*/, void* text) {
        *static_cast<std::string*>(text) += "deferred ";
        return 0;
    };
    const auto serve_time = [](sd_event_source* /*source*/, std::uint64_t /*time*/, void* text) {
        *static_cast<std::string*>(text) += "time ";
        return 0;
    };
    sd_event_source* later = nullptr;
    ASSERT_GE(sd_event_add_time(loop.get(), &later, CLOCK_MONOTONIC, UINT64_MAX, 1, serve_time, &served), 0);
    const EventSource kept(later);
    then = [&] {
        if (alarms == 1) {
            EXPECT_GE(sd_event_add_defer(loop.get(), nullptr, serve, &served), 0);
        } else {
            EXPECT_GE(sd_event_add_time(loop.get(), nullptr, CLOCK_MONOTONIC, 1, 1, serve_time, &served), 0);
        }
    };
    again();
    EXPECT_TRUE(runs_until([&] { return served == "deferred "; }));
    again();
    EXPECT_TRUE(runs_until([&] { return served == "deferred time "; }));
    then = [&] {
        EXPECT_EQ(sd_event_get_state(loop.get()), SD_EVENT_ARMED);
        EXPECT_GE(sd_event_source_set_time(later, 1), 0);
    };
    again();
    EXPECT_TRUE(runs_until([&] { return served == "deferred time time "; })) << "a source that is changed";
}

TEST_F(TheEventLoop, ServesDescriptorsAndAlarmsInTurnWhenBothAreAlwaysReady) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    const FileDescriptor read(ends[0]);
    const FileDescriptor write(ends[1]);
    ASSERT_EQ(::write(write.get(), "x", 1), 1);
    int reports = 0;
    const auto report = [](sd_event_source*, int, std::uint32_t, void* count) {
        ++*static_cast<int*>(count);
        return 0;
    };
    ASSERT_GE(sd_event_add_io(loop.get(), nullptr, read.get(), EPOLLIN, report, &reports), 0);
    then = [this] { alarm->set(MonoTime()); };
    alarm->set(MonoTime());

    EXPECT_TRUE(runs_until([&] { return reports > 5 && alarms > 5; }));
    alarm->cancel();
}

// Destroys itself at the first call, and reads nothing.
class OneCall final : Watched {
public:
    OneCall(EventLoop& loop, int descriptor, std::unique_ptr<OneCall>& self, int& calls)
        : Watched(loop), self_(self), calls_(calls) {
        EXPECT_EQ(watch(FileDescriptor(::dup(descriptor))), 0);
    }

private:
    void readable() override {
        ++calls_;
        self_.reset();
    }

    std::unique_ptr<OneCall>& self_;
    int& calls_;
};

TEST_F(TheEventLoop, CallsNoOneThatHasEndedThoughAnotherHasItsOpenFile) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    const FileDescriptor read(ends[0]);
    const FileDescriptor write(ends[1]);
    int calls = 0;
    std::unique_ptr<OneCall> one;
    one = std::make_unique<OneCall>(loop, read.get(), one, calls);
    runs();
    EXPECT_EQ(calls, 0);

    ASSERT_EQ(::write(write.get(), "x", 1), 1);
    runs();
    EXPECT_EQ(calls, 1);
}

TEST_F(TheEventLoop, EndsAtASignalThatComesWhileAnAlarmIsServed) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    ASSERT_EQ(::sigprocmask(SIG_BLOCK, &signals, nullptr), 0);
    ASSERT_GE(sd_event_add_signal(loop.get(), nullptr, SIGUSR1, nullptr, nullptr), 0);
    then = [] { EXPECT_EQ(::raise(SIGUSR1), 0); };
    again();

    EXPECT_EQ(loop.run(), 0);
    EXPECT_EQ(alarms, 1);
}

// A bus with room for a few messages, to a peer that reads when the test calls hear().
class ABusThatIsFull : public TheEventLoop {
protected:
    ABusThatIsFull() {
        std::array<int, 2> ends{};
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()), 0);
        ours = started(ends[0], false);
        peer = started(ends[1], true);
        const int least = 1;  // sd-bus has made it 8 MiB
        EXPECT_EQ(::setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &least, sizeof least), 0);
        EXPECT_GE(loop.attach(ours), 0);
        EXPECT_TRUE(runs_until([this] {
            hear();
            return sd_bus_is_ready(ours) > 0 && sd_bus_is_ready(peer) > 0;
        }));
    }
    ~ABusThatIsFull() override {
        sd_bus_close_unref(ours);
        sd_bus_close_unref(peer);
    }
    ABusThatIsFull(const ABusThatIsFull&) = delete;
    ABusThatIsFull& operator=(const ABusThatIsFull&) = delete;

    static sd_bus* started(int descriptor, bool server) {
        sd_bus* bus = nullptr;
        EXPECT_GE(sd_bus_new(&bus), 0);
        EXPECT_GE(sd_bus_set_fd(bus, descriptor, descriptor), 0);
        EXPECT_GE(sd_bus_set_anonymous(bus, 1), 0);
        if (server) {
            EXPECT_GE(sd_bus_set_server(bus, 1, sd_id128_t{}), 0);
        }
        EXPECT_GE(sd_bus_start(bus), 0);
        return bus;
    }
    // Reads the messages that have reached the peer.
    void hear() {
        int status = 1;
        while (status > 0) {
            sd_bus_message* message = nullptr;
            status = sd_bus_process(peer, &message);
            heard += message != nullptr && sd_bus_message_is_signal(message, "org.happe.Test", "Told") > 0 ? 1 : 0;
            sd_bus_message_unref(message);
        }
    }

    sd_bus* ours = nullptr;
    sd_bus* peer = nullptr;
    int heard = 0;
};

TEST_F(ABusThatIsFull, GetsWhatAnAlarmSentAsSoonAsItsReaderReads) {
    std::uint64_t queued = 0;
    int sent = 0;
    then = [&] {
        const std::string text(1000, 'x');
        for (; queued < 10; ++sent) {
            EXPECT_GE(sd_bus_emit_signal(ours, "/", "org.happe.Test", "Told", "s", text.c_str()), 0);
            EXPECT_GE(sd_bus_get_n_queued_write(ours, &queued), 0);
        }
        hear();
        EXPECT_LT(heard, sent);
    };
    bool late = false;
    Alarm end(loop, [&] {
        late = true;
        (void)loop.get();
    });
    end.set(monotonic_now() + 60s);
    again();
    while ((sent == 0 || heard < sent) && !late) {
        EXPECT_GE(loop.run_once(-1), 0);
        hear();
    }
    EXPECT_FALSE(late) << "nothing but the bus wakes the loop";
    EXPECT_EQ(heard, sent);

    then = [this] {
        if (alarms < 20) {
            again();
        } else {
            (void)loop.get();
        }
    };
    const std::uint64_t before = turns_of_sd_event();
    again();
    while (alarms < 20) {
        EXPECT_GE(loop.run_once(-1), 0);
    }
    EXPECT_LE(turns_of_sd_event(), before + 2) << "sd-event is left alone again";
}

TEST_F(TheEventLoop, CallsAnAlarmOnceAndNotBeforeItsLastTime) {
    const MonoTime at = monotonic_now() + 20ms;
    alarm->set(monotonic_now());
    alarm->set(at);

    EXPECT_TRUE(runs_until([&] { return alarms == 1; }));
    EXPECT_GE(monotonic_now(), at);
    runs();
    EXPECT_EQ(alarms, 1);
}

TEST_F(TheEventLoop, CallsAnAlarmAtOnceIfItsTimeHasPassed) {
    for (const MonoTime past : {monotonic_now() - 1h, MonoTime(), MonoTime(-5s)}) {
        alarms = 0;
        alarm->set(past);
        EXPECT_TRUE(runs_until([&] { return alarms == 1; }));
    }
}

TEST_F(TheEventLoop, CallsNoAlarmThatIsCancelledOrGone) {
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
