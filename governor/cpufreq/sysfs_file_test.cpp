// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/cpufreq/sysfs_file.h"

#include "governor/system/temporary_directory_fixture.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <array>
#include <csignal>

namespace happe::sysfs {
namespace {

std::string shown(const Result<std::optional<std::string_view>>& line) {
    return !line ? line.error().message : *line ? "\"" + std::string(**line) + "\"" : "absent";
}

// A process whose files in /proc go with it while their descriptors stay, like a policy's files.
class Process {
public:
    Process() : pid_(::fork()) {
        if (pid_ == 0) {
            for (;;) {
                ::pause();
            }
        }
    }
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;
    ~Process() { end(); }

    [[nodiscard]] std::filesystem::path comm() const { return "/proc/" + std::to_string(pid_) + "/comm"; }
    void end() {
        if (pid_ > 0) {
            ::kill(pid_, SIGKILL);
            ::waitpid(pid_, nullptr, 0);
            pid_ = -1;
        }
    }

private:
    pid_t pid_;
};

class SysfsFile : public testing::Test {
protected:
    [[nodiscard]] std::string read(Attribute& attribute) { return shown(attribute.read(buffer)); }

    TemporaryDirectory directory;
    std::filesystem::path path = directory.path() / "file";
    std::array<char, 16> buffer{};
};

TEST_F(SysfsFile, SaysWhyItCannotBeUsed) {
    std::filesystem::create_directory(path);
    EXPECT_EQ(read_line(path).error().message, path.string() + ": Is a directory");
    EXPECT_EQ(write_line("/dev/full", "1").error().message, "/dev/full: No space left on device");
}

TEST_F(SysfsFile, IsOpenedAnewWhenWhatItBelongedToWasReplaced) {
    Process first;
    std::filesystem::create_symlink(first.comm(), path);
    Attribute attribute(path);
    const std::string name = read(attribute);
    EXPECT_EQ(name.front(), '"');
    first.end();
    EXPECT_EQ(read(attribute), "absent");
    const Process second;
    std::filesystem::remove(path);
    std::filesystem::create_symlink(second.comm(), path);
    EXPECT_EQ(read(attribute), name);
}

TEST_F(SysfsFile, IsOpenedAnewAtOnceWhenTheNextIsThereAlready) {
    Process first;
    const Process second;
    std::filesystem::create_symlink(first.comm(), path);
    Attribute attribute(path);
    const std::string name = read(attribute);
    first.end();
    std::filesystem::remove(path);
    std::filesystem::create_symlink(second.comm(), path);
    EXPECT_EQ(read(attribute), name);
}

}  // namespace
}  // namespace happe::sysfs
