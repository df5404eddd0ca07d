// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/cpufreq/found_state.h"

#include "governor/cpufreq/cpufreq_fake.h"
#include "governor/system/temporary_directory_fixture.h"
#include "tests/disk.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace happe {
namespace {

using Frequency = Cpufreq::Frequency;

FoundPolicy ondemand(std::uint16_t id) {
    return {.id = {id},
            .found = {.governor = "ondemand", .min = {800'000}, .max = {2'201'000}, .speed = std::nullopt},
            .tunables = {{"sampling_rate", "80000"}, {"up_threshold", "80"}},
            .governor = "userspace"};
}

FoundPolicy capped(std::uint16_t id) {
    return {.id = {id},
            .found = {.governor = "powersave", .min = {400'000}, .max = {3'000'000}, .speed = std::nullopt},
            .epp = "power",
            .found_epp = "128",
            .capped = true};
}

std::string read_error(const std::string& text) {
    const auto state = read_found(text);
    return state ? "no error" : state.error().message;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
}

TEST(FoundState, IsReadAsItWasWritten) {
    FoundPolicy userspace = ondemand(1023);
    userspace.found.governor = "userspace";
    userspace.found.speed = Khz{1'600'000};
    FoundPolicy free = capped(3);
    free.found.max = kNoLimit;
    const FoundState state{ondemand(0), capped(2), free, userspace};
    const auto read = read_found(write_found(state));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, state);
}

TEST(FoundState, RefusesWhatIsNotItsDocumentAndNamesTheField) {
    const std::string good = write_found({ondemand(0), capped(1)});
    EXPECT_EQ(read_error(replaced(good, "happe-found/1", "happe-found/2")), "format: must be one of \"happe-found/1\"");
    EXPECT_EQ(read_error(replaced(good, "\"min_khz\":800000", "\"min_khz\":0")),
              "policies[0].found.min_khz: must be 1 to 20000000, is 0");
    EXPECT_EQ(read_error(replaced(good, "\"max_khz\":2201000", "\"max_khz\":99999999999")),
              "policies[0].found.max_khz: must be 1 to 20000000, is 99999999999");
    EXPECT_EQ(read_error(replaced(good, "\"policy\":1", "\"policy\":1024")),
              "policies[1].policy: must be 0 to 1023, is 1024");
    EXPECT_EQ(read_error(replaced(good, "\"policy\":1", "\"policy\":0")),
              "policies[1].policy: must be above the one before");
    EXPECT_EQ(read_error(replaced(good, "\"caps\":true", "\"caps\":1")), "policies[1].caps: must be true or false");
    EXPECT_EQ(read_error(replaced(good, "\"found\":\"128\"", "\"found\":128")),
              "policies[1].epp.found: must be a string");
    EXPECT_EQ(read_error(replaced(good, "\"80000\"", "80000")),
              "policies[0].found.tunables.sampling_rate: must be a string");
    EXPECT_EQ(read_error(replaced(good, "\"ondemand\"", "\"" + std::string(256, 'x') + "\"")),
              "policies[0].found.governor: must have 1 to 255 bytes, has 256");
    EXPECT_TRUE(read_error(replaced(good, "\"caps\"", "\"cap\"")).starts_with("policies[0].cap: unknown field"));
    EXPECT_EQ(read_error(R"({"format":"happe-found/1","policies":[]})"),
              "policies: must have 1 to 1024 elements, has 0");
}

class FoundFile : public testing::Test {
protected:
    FoundState loaded() const {
        const auto state = load_found(path);
        EXPECT_TRUE(state) << state.error().message;
        return state.value_or(FoundState());
    }

    TemporaryDirectory directory;
    std::filesystem::path path = directory.path() / "found.json";
};

TEST_F(FoundFile, HoldsWhatWasSavedForItsOwnerAlone) {
    const Disk disk(directory.path());
    ASSERT_TRUE(save_found(path, {ondemand(0)}));
    EXPECT_EQ(disk.lost(), std::vector<std::string>());
    EXPECT_EQ(loaded(), FoundState{ondemand(0)});
    EXPECT_EQ(std::filesystem::status(path).permissions(),
              std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST_F(FoundFile, IsGoneWhenNothingIsLeft) {
    ASSERT_TRUE(save_found(path, {ondemand(0)}));
    ASSERT_TRUE(save_found(path, {}));
    EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
    EXPECT_TRUE(loaded().empty());
    EXPECT_TRUE(save_found(path, {}));
}

TEST_F(FoundFile, SaysWhichFileCannotBeReadAndWhy) {
    put_text(path, "{");
    EXPECT_TRUE(load_found(path).error().message.starts_with(path.string() + ": not JSON"));
    put_text(path, std::string((1U << 20U) + 1, ' '));
    EXPECT_EQ(load_found(path).error().message, path.string() + ": longer than 1048576 bytes");
    std::filesystem::remove(path);
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);  // to open it would wait for its writer
    EXPECT_TRUE(load_found(path).error().message.starts_with(path.string() + ": not JSON"));
    std::filesystem::remove(path);
    std::filesystem::create_directory(path);
    EXPECT_EQ(load_found(path).error().message, path.string() + ": cannot read: Is a directory");
}

TEST_F(FoundFile, CannotBeWrittenWhereThereIsNoDirectory) {
    const Status status = save_found(directory.path() / "none" / "found.json", {ondemand(0)});
    ASSERT_FALSE(status);
    EXPECT_TRUE(status.error().message.ends_with("cannot create: No such file or directory")) << status.error().message;
}

// A T61 as HAPPE leaves it after a kill.
class Restore : public FoundFile {
protected:
    Restore() {
        kernel.defaults = {{"ondemand", {{"sampling_rate", "10000"}, {"up_threshold", "95"}}}};
        for (const std::uint16_t id : std::initializer_list<std::uint16_t>{0, 1}) {
            kernel.add_t61(id, {id}).governor = "userspace";
        }
        kernel.shared.clear();
    }
    void found(const FoundState& state) { ASSERT_TRUE(save_found(path, state)); }
    void restore() {
        const Status status = restore_found(path, kernel);
        EXPECT_TRUE(status) << status.error().message;
    }
    fake::Kernel::Policy& policy(std::uint16_t id) { return kernel.machine.at({id}); }

    fake::Kernel kernel;
};

TEST_F(Restore, GivesBackGovernorAndTunablesAndRemovesTheFile) {
    found({ondemand(0), ondemand(1)});
    restore();
    EXPECT_EQ(policy(0).governor, "ondemand");
    EXPECT_EQ(policy(1).governor, "ondemand");
    EXPECT_EQ(kernel.shared["ondemand"], (Tunables{{"sampling_rate", "80000"}, {"up_threshold", "80"}}));
    EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(Restore, MayRunTwice) {
    found({ondemand(0), ondemand(1)});
    restore();
    found({ondemand(0), ondemand(1)});  // as if a kill had come before it removed the file
    const int writes = policy(0).writes;
    restore();
    EXPECT_EQ(policy(0).writes, writes);
    EXPECT_EQ(policy(0).governor, "ondemand");
}

TEST_F(Restore, LeavesAGovernorThatAnotherProgramHasSet) {
    policy(0).governor = "performance";
    found({ondemand(0), ondemand(1)});
    restore();
    EXPECT_EQ(policy(0).governor, "performance");
    EXPECT_EQ(policy(1).governor, "ondemand");
    EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(Restore, GivesBackTheTargetOfAUserspaceGovernor) {
    FoundPolicy mine = ondemand(0);
    mine.found.governor = "userspace";
    mine.found.speed = Khz{1'200'000};
    mine.tunables.clear();
    found({mine});
    policy(0).setspeed = {2'200'000};
    restore();
    EXPECT_EQ(policy(0).governor, "userspace");
    EXPECT_EQ(policy(0).setspeed, Khz{1'200'000});
}

TEST_F(Restore, KeepsWhatIsOffLineForTheNextTime) {
    found({ondemand(0), ondemand(1)});
    kernel.off_line(1);
    restore();
    EXPECT_EQ(policy(0).governor, "ondemand");
    EXPECT_EQ(loaded(), FoundState{ondemand(1)});
    kernel.on_line(1);
    restore();
    EXPECT_EQ(policy(1).governor, "ondemand");
    EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(Restore, KeepsAndNamesWhatWasRefusedAndGoesOn) {
    found({ondemand(0), ondemand(1)});
    kernel.refused["policy0/scaling_governor"] = "Invalid argument";
    const Status status = restore_found(path, kernel);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().message, "policy0/scaling_governor: Invalid argument");
    EXPECT_EQ(policy(1).governor, "ondemand");
    EXPECT_EQ(loaded(), FoundState{ondemand(0)});
}

TEST_F(Restore, LiftsACapBelowALimitOfTheKernelToo) {
    kernel.add_pstate(2, {2}).user_max = {1'300'000};
    policy(2).kernel_max = {900'000};
    found({capped(2)});
    restore();
    EXPECT_EQ(policy(2).user_max, Khz{3'000'000});
}

TEST_F(Restore, LeavesALimitThatAnotherProgramHasRaised) {
    kernel.add_pstate(2, {2}).user_max = {3'500'000};
    found({capped(2)});
    restore();
    EXPECT_EQ(policy(2).user_max, Khz{3'500'000});
}

TEST_F(Restore, DoesNotTouchTheMachineWhenTheFileCannotBeRead) {
    put_text(path, "{}");
    EXPECT_FALSE(restore_found(path, kernel));
    EXPECT_EQ(policy(0).writes, 0);
    EXPECT_TRUE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace happe
