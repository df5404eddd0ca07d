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

TEST(Describe, AProcessThatEndedMeanwhileIsRefusedThoughItsNumberLives) {
    Sleeper sleeper("sleep");
    const FileDescriptor process = pidfd(sleeper.pid());
    sleeper.end();
    EXPECT_FALSE(describe(process.get(), getpid()));
}

TEST(ApplicationOfUnit, ReadsDesktopsNames) {
    EXPECT_EQ(application_of_unit("app-gnome-org.gnome.Evince-1234.scope"), (UnitName{"org.gnome.Evince", false}));
    EXPECT_EQ(application_of_unit("app-firefox-4711.scope"), (UnitName{"firefox", false}));
    EXPECT_EQ(application_of_unit("app-flatpak-org.mozilla.firefox-12.scope"), (UnitName{"org.mozilla.firefox", true}));
    EXPECT_EQ(application_of_unit("app-org.kde.kate@8f2a.service"), (UnitName{"org.kde.kate", false}));
    EXPECT_EQ(application_of_unit("app-gnome-gnome\\x2dterminal-99.scope"), (UnitName{"gnome-terminal", false}));
    EXPECT_EQ(application_of_unit("snap.quake.quake-0f3c4e1a-0000-1111-2222-333344445555.scope"),
              (UnitName{"quake.quake", true}));
}

TEST(ApplicationOfUnit, OtherUnitsNameNone) {
    for (const char* unit : {"", "init.scope", "session-2.scope", "vte-spawn-1.scope", "app-.scope", "app-x",
                             "app--.scope", "snap..scope", "app-@.service", "dbus.service"}) {
        EXPECT_FALSE(application_of_unit(unit)) << unit;
    }
}

TEST(ApplicationOfUnit, ABrokenEscapeIsTakenAsItIs) {
    EXPECT_EQ(application_of_unit("app-a\\x2-1.scope")->application, "a\\x2");
    EXPECT_EQ(application_of_unit("app-a\\xzz-1.scope")->application, "a\\xzz");
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

TEST(ApplicationOf, ANameThatIsNoneIsTheDesktop) {
    EXPECT_EQ(application_of({}, ""), "desktop");
    EXPECT_EQ(application_of({}, std::string(256, 'a')), "desktop");
    EXPECT_EQ(application_of({}, "\xff\xfe"), "desktop");
    EXPECT_EQ(application_of({.program = "\xff"}, std::string("a\0b", 3)), "desktop");
    EXPECT_EQ(application_of({.unit = "app-\\xff-1.scope"}, ""), "desktop");
}

TEST(ApplicationOf, ANameOfAProfileOnMainsIsNone) {
    EXPECT_EQ(application_of({.program = "torcs/mains"}, "quake3"), "quake3");
    EXPECT_EQ(application_of({}, "torcs/mains"), "desktop");
    EXPECT_EQ(application_of({}, "/usr/games/torcs"), "/usr/games/torcs");
}

TEST(ApplicationOf, ANameWithAControlCharacterIsNone) {
    for (const char* name : {"\x1b[2J", "a\nb", "\x7f", "a\xc2\x9b", "\xc2\x80"}) {
        EXPECT_EQ(application_of({.program = name}, name), "desktop") << testing::PrintToString(name);
    }
    EXPECT_EQ(application_of({.program = "\xc2\xa0\xc3\x84"}, ""), "\xc2\xa0\xc3\x84");
}

}  // namespace
}  // namespace happe
