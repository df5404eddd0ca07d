// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/system/process.h"

#include "governor/system/file_descriptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

namespace happe {
namespace {

FileDescriptor pidfd(pid_t pid) {
    return FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
}

// A process of this test that sleeps until the test kills it.
class Sleeper {
public:
    explicit Sleeper(const char* argv0) : pid_(fork()) {
        if (pid_ == 0) {
            execl("/bin/sleep", argv0, "60", nullptr);
            _exit(127);
        }
    }
    Sleeper(const Sleeper&) = delete;
    Sleeper& operator=(const Sleeper&) = delete;
    ~Sleeper() { end(); }

    void end() {
        if (pid_ > 0) {
            kill(pid_, SIGKILL);
            waitpid(pid_, nullptr, 0);
            pid_ = 0;
        }
    }
    [[nodiscard]] pid_t pid() const { return pid_; }

private:
    pid_t pid_;
};

// After fork() the child is for a moment still this program.
void wait_for_program(const FileDescriptor& process, pid_t pid, const std::string& name) {
    for (int i = 0; i < 300'000 && describe(process.get(), pid)->program != name; ++i) {
        usleep(1000);
    }
}

TEST(ProcessOf, APidfdIsItsProcess) {
    const FileDescriptor self = pidfd(getpid());
    EXPECT_EQ(process_of(self.get()).value(), getpid());
}

TEST(ProcessOf, AnotherDescriptorIsRefused) {
    const FileDescriptor file(open("/proc/self/status", O_RDONLY));
    EXPECT_EQ(process_of(file.get()).error().message, "not a pidfd");
    EXPECT_EQ(process_of(-1).error().message, "not a pidfd");
}

TEST(ProcessOf, AnEndedProcessIsRefused) {
    Sleeper sleeper("sleep");
    const FileDescriptor process = pidfd(sleeper.pid());
    sleeper.end();
    EXPECT_EQ(process_of(process.get()).error().message, "the process has ended");
}

TEST(Describe, TellsUserAndProgram) {
    Sleeper sleeper("/opt/games/torcs-bin");
    const FileDescriptor process = pidfd(sleeper.pid());
    wait_for_program(process, sleeper.pid(), "torcs-bin");
    const auto described = describe(process.get(), sleeper.pid());
    ASSERT_TRUE(described);
    EXPECT_EQ(described->uid, geteuid());
    EXPECT_EQ(described->program, "torcs-bin");
}

TEST(Describe, WithoutArgumentsTheKernelsNameCounts) {
    Sleeper sleeper("");
    const FileDescriptor process = pidfd(sleeper.pid());
    wait_for_program(process, sleeper.pid(), "sleep");
    EXPECT_EQ(describe(process.get(), sleeper.pid())->program, "sleep");
}

TEST(Describe, ALongArgumentIsCutAndNoName) {
    const std::string path = "/opt/";
    const std::string cut(4096 - path.size(), 'a');
    Sleeper sleeper((path + std::string(100'000, 'a')).c_str());
    const FileDescriptor process = pidfd(sleeper.pid());
    wait_for_program(process, sleeper.pid(), cut);
    const auto described = describe(process.get(), sleeper.pid());
    ASSERT_TRUE(described);
    EXPECT_EQ(described->program, cut);
    EXPECT_EQ(application_of(*described, ""), "unnamed");
}

TEST(Describe, AProcessThatEndedMeanwhileIsRefusedThoughItsNumberLives) {
    Sleeper sleeper("sleep");
    const FileDescriptor process = pidfd(sleeper.pid());
    sleeper.end();
    EXPECT_FALSE(describe(process.get(), getpid()));
}

TEST(ApplicationOf, TheUnitsProgramIsTheUnitsApplication) {
    EXPECT_EQ(application_of({.program = "evince", .unit = "app-org.gnome.Evince-1.scope", .unit_runs = "evince"}, "x"),
              "org.gnome.Evince");
}

TEST(ApplicationOf, AProgramStartedInATerminalIsItself) {
    EXPECT_EQ(application_of({.program = "torcs", .unit = "app-org.kde.konsole-1.scope", .unit_runs = "konsole"}, "x"),
              "torcs");
}

TEST(ApplicationOf, AFlatpakIsItsIdWhateverItRuns) {
    EXPECT_EQ(application_of({.program = "bin", .unit = "app-flatpak-org.x.Y-1.scope", .unit_runs = "bwrap"}, ""),
              "org.x.Y");
}

TEST(ApplicationOf, TheHintCountsOnlyWhereNothingElseIsKnown) {
    EXPECT_EQ(application_of({.program = "torcs"}, "quake3"), "torcs");
    EXPECT_EQ(application_of({}, "quake3"), "quake3");
}

TEST(ApplicationOf, WhatCannotBeANameIsIgnored) {
    const std::string longest(255, 'a');
    EXPECT_EQ(application_of({.program = longest}, ""), longest);
    EXPECT_EQ(application_of({.program = "\xc2\xa0\xc3\x84"}, ""), "\xc2\xa0\xc3\x84");
    EXPECT_EQ(application_of({}, "/usr/games/torcs"), "/usr/games/torcs");
    for (const std::string& name :
         {std::string(), longest + "a", std::string("\xff\xfe"), std::string("a\0b", 3), std::string("\x1b[2J"),
          std::string("a\nb"), std::string("\x7f"), std::string("a\xc2\x9b"), std::string("\xc2\x80"),
          std::string("torcs/mains"), std::string("desktop"), std::string("desktop/mains")}) {
        SCOPED_TRACE(testing::PrintToString(name));
        EXPECT_EQ(application_of({.program = name}, "quake3"), "quake3");
        EXPECT_EQ(application_of({.program = name, .unit = "app-" + name + "-1.scope", .unit_runs = name}, name),
                  "unnamed");
        EXPECT_EQ(application_of({.program = "torcs", .unit = "app-flatpak-" + name + "-1.scope"}, ""), "torcs");
    }
}

}  // namespace
}  // namespace happe
