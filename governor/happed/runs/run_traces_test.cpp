// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happed/runs/run_traces.h"
#include "governor/system/temporary_directory_fixture.h"
#include "tests/disk.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <array>
#include <filesystem>
#include <fstream>

namespace happe {
namespace {

namespace fs = std::filesystem;

const KeptRun kMine{.uid = 1000, .blind = true, .facts = {}};

struct RunTracesTest : testing::Test {
    TemporaryDirectory directory;
    fs::path folder = directory.path() / "runs";
    RunTraces traces{folder};
};

std::string content(const FileDescriptor& file) {
    std::array<char, 100> text{};
    const ssize_t count = ::read(file.get(), text.data(), text.size());
    return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0))};
}

TEST_F(RunTracesTest, ATraceIsReadByItsRunsCodeAndIsPrivate) {
    const auto begun = traces.begin(kMine);
    ASSERT_TRUE(begun);
    ASSERT_EQ(::write(begun->trace.get(), "line\n", 5), 5);

    const auto opened = traces.open(begun->run);

    ASSERT_TRUE(opened);
    EXPECT_EQ(content(*opened), "line\n");
    struct stat about{};
    fstat(opened->get(), &about);
    EXPECT_EQ(about.st_mode & 0777U, 0600U);
    EXPECT_EQ(fs::status(folder).permissions(), fs::perms::owner_all);
}

TEST_F(RunTracesTest, CodesAreRandom) {
    EXPECT_NE(traces.begin(kMine)->run, traces.begin(kMine)->run);
}

TEST_F(RunTracesTest, ACodeIsNoPath) {
    ASSERT_TRUE(traces.begin(kMine));
    std::ofstream(folder / "secret") << "secret";
    for (const char* run : {"", "secret", "../secret", "0123456789abcdef", "/etc/passwd", "0123456789ABCDEF"}) {
        EXPECT_EQ(traces.open(run).error().kind, ServiceError::Kind::NotFound) << run;
        EXPECT_EQ(traces.kept(run).error().kind, ServiceError::Kind::NotFound) << run;
    }
}

TEST_F(RunTracesTest, WhatIsKeptOfARunIsWhatWasPutThereLast) {
    const Disk disk(directory.path());
    const std::string run = traces.begin(kMine)->run;
    EXPECT_EQ(traces.kept(run)->uid, 1000U);
    EXPECT_TRUE(traces.kept(run)->blind);
    EXPECT_EQ(traces.kept(run)->facts, "");

    ASSERT_TRUE(traces.keep(run, {.uid = 0, .blind = false, .facts = R"({"a":"\\ü"})"}));

    EXPECT_EQ(disk.lost(), std::vector<std::string>());
    EXPECT_EQ(traces.kept(run)->uid, 0U);
    EXPECT_FALSE(traces.kept(run)->blind);
    EXPECT_EQ(traces.kept(run)->facts, R"({"a":"\\ü"})");
    EXPECT_EQ(fs::status(folder / (run + ".json")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(RunTracesTest, WhatIsKeptOfARunAndIsDamagedIsNobodys) {
    const std::string run = traces.begin(kMine)->run;
    for (const char* text : {"", "{}", R"({"uid":-1,"blind":true,"facts":""})", R"({"uid":1,"blind":true})"}) {
        std::ofstream(folder / (run + ".json")) << text;
        EXPECT_EQ(traces.kept(run).error().kind, ServiceError::Kind::Failed) << text;
    }
}

TEST_F(RunTracesTest, WhatCannotBeReadIsNoUnknownRun) {
    const std::string run = traces.begin(kMine)->run;
    for (const char* suffix : {".json", ".jsonl"}) {
        fs::remove(folder / (run + suffix));
        fs::create_symlink(run + suffix, folder / (run + suffix));
    }
    const std::string why = ": Too many levels of symbolic links";
    EXPECT_EQ(traces.kept(run).error().kind, ServiceError::Kind::Failed);
    EXPECT_EQ(traces.kept(run).error().message, (folder / (run + ".json")).string() + why);
    EXPECT_EQ(traces.open(run).error().kind, ServiceError::Kind::Failed);
    EXPECT_EQ(traces.open(run).error().message, (folder / (run + ".jsonl")).string() + why);
}

TEST_F(RunTracesTest, TheNewestAreKept) {
    const std::string first = traces.begin(kMine)->run;
    fs::last_write_time(folder / (first + ".jsonl"), fs::file_time_type::clock::now() - std::chrono::hours(1));
    for (std::size_t i = 0; i < RunTraces::kMostKept; ++i) {
        ASSERT_TRUE(traces.begin(kMine));
    }
    EXPECT_FALSE(traces.open(first));
    EXPECT_FALSE(traces.kept(first));
    const auto files = static_cast<std::ptrdiff_t>(2 * RunTraces::kMostKept);  // a trace and the file beside it
    EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), files);
}

TEST_F(RunTracesTest, ARunThatCannotBeginOnAFullDiskLeavesNothing) {
    const auto begin = [&] { static_cast<void>(traces.begin(kMine)); };
    EXPECT_GE(on_full_disks(directory.path(), begin, [&] { EXPECT_TRUE(fs::is_empty(folder)); }), 4);
}

TEST_F(RunTracesTest, AFolderThatCannotBeIsAnError) {
    std::ofstream(folder.string()) << "a file";
    EXPECT_NE(traces.begin(kMine).error().message.find(folder.string()), std::string::npos);
}

}  // namespace
}  // namespace happe
