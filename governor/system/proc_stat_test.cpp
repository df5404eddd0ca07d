// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/system/proc_stat.h"
#include "governor/core/allocations_fixture.h"
#include "governor/system/temporary_directory_fixture.h"

#include <gtest/gtest.h>
#include <filesystem>
#include <fstream>
#include <limits>

namespace happe {
namespace {

using Cpus = std::vector<std::optional<CpuTicks>>;

constexpr std::uint64_t kWrap = std::numeric_limits<std::uint64_t>::max();

Cpus parsed(const std::string& text) {
    Cpus cpus;
    const Status status = ProcStat::parse(text, cpus);
    EXPECT_TRUE(status) << status.error().message;
    return cpus;
}

std::string parse_error(const std::string& text) {
    Cpus cpus;
    const Status status = ProcStat::parse(text, cpus);
    return status ? "no error" : status.error().message;
}

// A /proc/stat that the test changes.
class ProcStatFile : public testing::Test {
protected:
    [[nodiscard]] std::string path() const { return (directory.path() / "stat").string(); }
    void becomes(const std::string& text) const { std::ofstream(path(), std::ios::trunc) << text; }

    static std::vector<std::optional<Ppm>> sampled(ProcStat& source) {
        const auto sample = source.sample();
        EXPECT_TRUE(sample) << sample.error().message;
        return {sample->begin(), sample->end()};
    }

    TemporaryDirectory directory;
};

constexpr std::optional<Ppm> kNothing;
constexpr std::optional<Ppm> kHalf = Ppm{500'000};

TEST(ProcStatParse, GuestTimeIsCountedOnceAndTheSumAndWhatFollowsAreLeftOut) {
    //                                 user nice system idle iowait irq softirq steal guest guest_nice
    const Cpus cpus = parsed(
        "cpu  9999 9999 9999 9999 9999 9999 9999 9999 9999 9999\n"
        "cpu0 1 20 300 4000 50000 600000 7000000 80000000 1 20\n"
        "intr 123 nonsense");

    ASSERT_EQ(cpus.size(), 1U);
    EXPECT_EQ(cpus[0], (CpuTicks{.busy = 87'600'321, .idle = 4000, .iowait = 50000}));
}

TEST(ProcStatParse, OldKernelsHaveFewerColumnsAndNewerMayHaveMore) {
    EXPECT_EQ(parsed("cpu0 1 2 3 4\n")[0], (CpuTicks{.busy = 6, .idle = 4, .iowait = 0}));
    EXPECT_EQ(parsed("cpu0 1 2 3 4 5 6 7\n")[0], (CpuTicks{.busy = 19, .idle = 4, .iowait = 5}));
    EXPECT_EQ(parsed("cpu0 1 2 3 4 5 6 7 8 9 10 11 12 \n")[0], (CpuTicks{.busy = 27, .idle = 4, .iowait = 5}));
}

TEST(ProcStatParse, ANumberThatIsMissingIsACpuThatIsOffLine) {
    const Cpus cpus = parsed("cpu1 1 2 3 4\ncpu8191 1 2 3 4\n");

    ASSERT_EQ(cpus.size(), 8192U);
    EXPECT_FALSE(cpus[0]);
    EXPECT_TRUE(cpus[1]);
    EXPECT_FALSE(cpus[8190]);
    EXPECT_TRUE(cpus[8191]);
}

TEST(ProcStatParse, WhatIsWrongIsSaidOfItsLine) {
    const std::string good = "cpu  1 2 3 4\ncpu0 1 2 3 4\n";

    EXPECT_EQ(parse_error(""), "line 1: not a CPU's line");
    EXPECT_EQ(parse_error("intr 1\n" + good), "line 1: not a CPU's line");
    EXPECT_EQ(parse_error("cpu  1 2 3 4\n"), "line 1: not a CPU's line");
    EXPECT_EQ(parse_error(good + "cpu1 1 2 3"), "line 3: truncated: \"cpu1 1 2 3\"");
    EXPECT_EQ(parse_error(good + "cpu1 1 2 3\n"), "line 3: fewer than four numbers: \"cpu1 1 2 3\"");
    EXPECT_EQ(parse_error(good + "cpu1\n"), "line 3: fewer than four numbers: \"cpu1\"");
    EXPECT_EQ(parse_error(good + "cpu1 1 2 -3 4\n"), "line 3: not a number: \"cpu1 1 2 -3 4\"");
    EXPECT_EQ(parse_error(good + "cpu1 1 2 3x 4\n"), "line 3: not a number: \"cpu1 1 2 3x 4\"");
    EXPECT_EQ(parse_error(good + "cpu1 1 2 3 4 5 6 7 8 9 x\n"), "line 3: not a number: \"cpu1 1 2 3 4 5 6 7 8 9 x\"");
    EXPECT_EQ(parse_error(good + "cpu1 1\t2 3 4\n"), "line 3: not a number: \"cpu1 1\t2 3 4\"");
    EXPECT_EQ(parse_error(good + "cpu1 1 2 3 18446744073709551616\n"),
              "line 3: a number above 64 bits: \"cpu1 1 2 3 18446744073709551616\"");
    EXPECT_EQ(parse_error(good + "cpu0 1 2 3 4\n"), "line 3: the same CPU again: \"cpu0 1 2 3 4\"");
    EXPECT_EQ(parse_error(good + "cpu8192 1 2 3 4\n"), "line 3: not a CPU from 0 to 8191: \"cpu8192 1 2 3 4\"");
    EXPECT_EQ(parse_error(good + "cpux 1 2 3 4\n"), "line 3: not a CPU from 0 to 8191: \"cpux 1 2 3 4\"");
    EXPECT_EQ(parse_error(good + "cpu-1 1 2 3 4\n"), "line 3: not a CPU from 0 to 8191: \"cpu-1 1 2 3 4\"");
    EXPECT_EQ(parse_error(good + "cpu99999999999 1 2 3 4\n"),
              "line 3: not a CPU from 0 to 8191: \"cpu99999999999 1 2 3 4\"");
}

TEST(ProcStatUtilisation, IsTheBusyShareOfTheTimeBetweenRoundedDown) {
    EXPECT_EQ(ProcStat::utilisation({}, {.busy = 1, .idle = 1, .iowait = 1}), Ppm{333'333});
    EXPECT_EQ(ProcStat::utilisation({.busy = 50, .idle = 50, .iowait = 9}, {.busy = 150, .idle = 50, .iowait = 9}),
              kOne);
    EXPECT_EQ(ProcStat::utilisation({.busy = 50, .idle = 50, .iowait = 9}, {.busy = 50, .idle = 51, .iowait = 9}),
              Ppm{0});
    EXPECT_EQ(ProcStat::utilisation({.busy = 5, .idle = 5, .iowait = 5}, {.busy = 5, .idle = 5, .iowait = 5}),
              kNothing);
}

TEST(ProcStatUtilisation, ACounterThatGoesBackCountsAsStandingStill) {
    const CpuTicks before{.busy = 100, .idle = 100, .iowait = 100};

    EXPECT_EQ(ProcStat::utilisation(before, {.busy = 110, .idle = 110, .iowait = 95}), kHalf);
    EXPECT_EQ(ProcStat::utilisation(before, {.busy = 110, .idle = 95, .iowait = 95}), kOne);
    EXPECT_EQ(ProcStat::utilisation(before, {.busy = 95, .idle = 110, .iowait = 100}), Ppm{0});
    EXPECT_EQ(ProcStat::utilisation(before, {.busy = 0, .idle = 0, .iowait = 0}), kNothing);
}

TEST(ProcStatUtilisation, CountersMayWrapAndJumpWithoutAnyBreakingTheScale) {
    EXPECT_EQ(
        ProcStat::utilisation({.busy = kWrap - 4, .idle = kWrap - 4, .iowait = 0}, {.busy = 5, .idle = 5, .iowait = 0}),
        kHalf);
    EXPECT_EQ(ProcStat::utilisation({}, {.busy = kWrap / 2, .idle = kWrap / 2, .iowait = 0}), kHalf);
    EXPECT_EQ(ProcStat::utilisation({}, {.busy = kWrap / 2, .idle = kWrap / 2, .iowait = kWrap / 2}), Ppm{333'333});
}

TEST_F(ProcStatFile, TheFirstSampleStartsTheMeasurement) {
    becomes("cpu0 10 0 0 10\n");
    ProcStat source(path());
    EXPECT_EQ(sampled(source), (std::vector{kNothing}));

    becomes("cpu0 20 0 0 20\n");
    EXPECT_EQ(sampled(source), (std::vector{kHalf}));
    EXPECT_EQ(sampled(source), (std::vector{kNothing}));  // the counters have no time yet
}

TEST_F(ProcStatFile, ACpuThatWasOffLineRestartsItsMeasurement) {
    becomes("cpu0 10 0 0 10\ncpu1 10 0 0 10\ncpu3 10 0 0 10\n");
    ProcStat source(path());
    static_cast<void>(sampled(source));

    becomes("cpu0 20 0 0 20\ncpu3 11 0 0 13\n");
    EXPECT_EQ(sampled(source), (std::vector{kHalf, kNothing, kNothing, std::optional(Ppm{250'000})}));
    becomes("cpu0 30 0 0 30\ncpu1 90 0 0 10\n");
    EXPECT_EQ(sampled(source), (std::vector{kHalf, kNothing}));
    becomes("cpu0 40 0 0 40\ncpu1 91 0 0 11\n");
    EXPECT_EQ(sampled(source), (std::vector{kHalf, kHalf}));
}

TEST_F(ProcStatFile, AfterAnErrorTheNextSampleGoesBackToTheLastGoodOne) {
    becomes("cpu0 10 0 0 10\n");
    ProcStat source(path());
    static_cast<void>(sampled(source));
    becomes("cpu0 12 0 0 x\n");
    EXPECT_EQ(source.sample().error().message, path() + ": line 1: not a number: \"cpu0 12 0 0 x\"");

    becomes("cpu0 20 0 0 40\n");
    EXPECT_EQ(sampled(source), (std::vector{std::optional(Ppm{250'000})}));
}

TEST_F(ProcStatFile, AFileThatIsNotThereYetIsAnErrorUntilItIs) {
    ProcStat source(path());
    EXPECT_EQ(source.sample().error().message, path() + ": No such file or directory");

    becomes("cpu0 10 0 0 10\n");
    EXPECT_EQ(sampled(source), (std::vector{kNothing}));
}

TEST_F(ProcStatFile, EightThousandCpusAreReadWithoutAllocatingAgain) {
    std::string text = "cpu  0 0 0 0\n";
    for (unsigned cpu = 0; cpu <= ProcStat::kHighestCpu; ++cpu) {
        text += "cpu" + std::to_string(cpu) +
                " 123456789 123456789 123456789 123456789 123456789 123456789 123456789 0 0 0\n";
    }
    becomes(text + "intr 0\n");
    ProcStat source(path());
    EXPECT_EQ(sampled(source).size(), 8192U);
    static_cast<void>(source.sample());
    const std::size_t before = allocations;

    const auto sample = source.sample();

    EXPECT_EQ(allocations, before);
    EXPECT_EQ(sample.value().size(), 8192U);
}

TEST_F(ProcStatFile, TextWithoutEndIsAnError) {
    becomes("");
    std::filesystem::resize_file(path(), 20'000'000);

    EXPECT_EQ(ProcStat(path()).sample().error().message, path() + ": longer than 16777216 bytes");
}

}  // namespace
}  // namespace happe
