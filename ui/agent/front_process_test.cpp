// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/agent/front_process.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <csignal>

namespace happe::ui {
namespace {

using namespace std::chrono_literals;

constexpr const char* kRest = " S 1 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 8711 1000 200\n";

TEST(StartInStat, IsTheTwentySecondField) {
    EXPECT_EQ(start_in_stat("42 (game)" + std::string(kRest)), BootTime(8711));
}

TEST(StartInStat, IsNotTakenInByWhatTheProgramIsCalled) {
    for (const char* const name : {"a b", ") S 1 1", "((", "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19", ""}) {
        EXPECT_EQ(start_in_stat("42 (" + std::string(name) + ")" + kRest), BootTime(8711)) << name;
    }
}

TEST(StartInStat, IsNoneInWhatIsNoSuchLine) {
    for (const char* const text : {"", "42", "42 (game", "42 (game)", "42 (game) S 1 1", ")",
                                   "42 (g) S 1 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 87x1 1000",
                                   "42 (g) S 1 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 -1 1000",
                                   "42 (g) S 1 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 99999999999999999999 1",
                                   "42 (g) S 1 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 8711"}) {
        EXPECT_EQ(start_in_stat(text), std::nullopt) << text;
    }
}

TEST(OpenProcess, IsThisOne) {
    const auto mine = open_process(::getpid(), boot_time_now());
    ASSERT_TRUE(mine) << mine.error();
    EXPECT_LE(mine->started, boot_time_now());
    EXPECT_TRUE(mine->is(*open_process(::getpid(), boot_time_now())));
    EXPECT_FALSE(mine->is(*open_process(::getppid(), boot_time_now())));
}

TEST(OpenProcess, RefusesOneThatStartedAfterItsWindowWasSeen) {
    const auto mine = open_process(::getpid(), boot_time_now());
    EXPECT_EQ(open_process(::getpid(), mine->started - BootTime(1)).error(),
              "process " + std::to_string(::getpid()) + " started after its window was in front: it is another one");
}

TEST(OpenProcess, RefusesWhatHasEndedOrNeverWas) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::_exit(0);
    }
    siginfo_t ended{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED), 0);
    for (const pid_t pid : {child, 0, -1, 4'194'305}) {
        EXPECT_EQ(open_process(pid, boot_time_now()).error(), "process " + std::to_string(pid) + " has ended");
    }
}

}  // namespace
}  // namespace happe::ui
