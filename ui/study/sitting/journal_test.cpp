// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/study/sitting/journal.h"

#include "tests/disk.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <filesystem>
#include <fstream>

namespace happe::study {
namespace {

constexpr const char* kRun = "7ZK3M9QA";

class JournalTest : public testing::Test {
protected:
    JournalTest()
        : folder_(testing::TempDir() + "journal-" + std::to_string(::getpid())), path_(folder_ + "/journal.db") {
        std::filesystem::remove_all(folder_);
        std::filesystem::create_directories(folder_);
    }
    ~JournalTest() override { std::filesystem::remove_all(folder_); }

    std::string folder_;
    std::string path_;
};

TEST_F(JournalTest, KnowsAfterwardsWhatWasWrittenDown) {
    {
        Journal journal(path_);
        EXPECT_FALSE(journal.seat());
        journal.sit("token");
        journal.told("{}");
        journal.practise("torcs");
        journal.begin(kRun, "start");
        journal.running(kRun, "0123");
        journal.note(kRun, "begun \"again\"");
        journal.note(kRun, "and again");
    }
    Journal journal(path_);
    EXPECT_EQ(journal.seat()->token, "token");
    EXPECT_EQ(journal.seat()->told, "{}");
    EXPECT_EQ(journal.practised(), (std::set<std::string>{"torcs"}));
    ASSERT_EQ(journal.runs().size(), 1U);
    const KnownRun run = journal.runs().front();
    EXPECT_EQ(run.start_id, "start");
    EXPECT_EQ(run.governor_run, "0123");
    EXPECT_EQ(run.step, Step::Running);
    EXPECT_EQ(run.notes, (std::vector<std::string>{"begun \"again\"", "and again"}));
}

TEST_F(JournalTest, IsForItsOwnerAlone) {
    const Journal journal(path_);
    struct stat found{};
    ASSERT_EQ(::stat(path_.c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777U, 0600U);
}

TEST_F(JournalTest, ARunThatBeginsAgainKeepsItsStartIdAndItsNotes) {
    Journal journal(path_);
    journal.begin(kRun, "first");
    journal.running(kRun, "0123");
    journal.note(kRun, "it broke");
    journal.begin(kRun, "second");
    const KnownRun run = journal.runs().front();
    EXPECT_EQ(run.start_id, "first");
    EXPECT_EQ(run.governor_run, "");
    EXPECT_EQ(run.step, Step::Starting);
    EXPECT_EQ(run.notes.size(), 1U);
}

TEST_F(JournalTest, ARunThatBeginsAfterAllForgetsItsAbortionThatWasRefused) {
    Journal journal(path_);
    journal.begin(kRun, "first");
    journal.settle(kRun, Step::Aborted, {abortion_of(kRun, "a fire drill"), abortion_of("4HT2XC0N", "another run")});
    journal.refused(1, "409");
    journal.refused(2, "409");
    journal.begin(kRun, "second");
    EXPECT_EQ(journal.runs().front().step, Step::Starting);
    EXPECT_EQ(journal.runs().front().start_id, "first");
    ASSERT_EQ(journal.refusals().size(), 1U);
    EXPECT_EQ(journal.refusals().front().about, "4HT2XC0N");
}

TEST_F(JournalTest, LettersWaitInTheirOrderUntilTheyAreSentOrRefused) {
    Journal journal(path_);
    journal.begin(kRun, "start");
    journal.ended(kRun, {.trace = "trace", .facts = "facts"});
    EXPECT_EQ(journal.recording(kRun).trace, "trace");
    journal.settle(kRun, Step::Rated, {rating_of(kRun, "id", 4), record_of(kRun, "id", "record")});
    EXPECT_EQ(journal.waiting(), 3);
    EXPECT_EQ(journal.recording(kRun).trace, "") << "it is in the upload";
    EXPECT_EQ(journal.first_upload()->path, "runs/7ZK3M9QA/end");
    journal.sent(journal.first_upload()->number);
    EXPECT_EQ(journal.first_upload()->body, R"({"id":"id","rating":4})");
    journal.refused(journal.first_upload()->number, "409");
    EXPECT_EQ(journal.first_upload()->body, "record");
    journal.sent(journal.first_upload()->number);
    EXPECT_FALSE(journal.first_upload());
    ASSERT_EQ(journal.refusals().size(), 1U);
    EXPECT_EQ(journal.refusals().front().why, "409");
    journal.send_refused_again();
    EXPECT_EQ(journal.first_upload()->body, R"({"id":"id","rating":4})");
    EXPECT_TRUE(journal.refusals().empty());
    EXPECT_EQ(journal.runs().front().step, Step::Rated);
}

TEST_F(JournalTest, WhenTheParticipantHasGoneTheirLettersStay) {
    Journal journal(path_);
    journal.sit("token");
    journal.begin(kRun, "start");
    journal.post(abortion_of(kRun, "a fire drill"));
    journal.stand_up();
    EXPECT_FALSE(journal.seat());
    EXPECT_TRUE(journal.runs().empty());
    EXPECT_EQ(journal.first_upload()->body, R"({"reason":"a fire drill"})");
}

TEST_F(JournalTest, NothingOfATraceIsLeftInTheFileWhenTheServerHasIt) {
    const std::string secret = "userspace-governor-4711";
    {
        Journal journal(path_);
        journal.begin(kRun, "start");
        journal.ended(kRun, {.trace = secret, .facts = secret});
        journal.settle(kRun, Step::Answered, {record_of(kRun, "id", std::string(100'000, 'x') + secret)});
        while (const auto upload = journal.first_upload()) {
            journal.sent(upload->number);
        }
    }
    std::ifstream file(path_, std::ios::binary);
    const std::string content((std::istreambuf_iterator<char>(file)), {});
    EXPECT_FALSE(content.empty());
    EXPECT_EQ(content.find(secret), std::string::npos);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(JournalTest, AChangeIsOnTheDiskWhenItReturnsAndOnAFullDiskAllOfItOrNothing) {
    Journal journal(path_);
    journal.begin(kRun, "start");
    journal.ended(kRun, {.trace = "trace", .facts = "facts"});
    std::string said;
    const auto is_settled = [&] { return journal.runs().front().step == Step::Answered; };
    const auto settle = [&] {
        try {
            if (!is_settled()) {
                journal.settle(kRun, Step::Answered, {rating_of(kRun, "id", 4), record_of(kRun, "id", "record")});
            }
        } catch (const JournalError& error) {
            said = error.what();
        }
    };
    const int calls = on_full_disks(folder_, settle, [&] {
        EXPECT_TRUE(said.starts_with(path_)) << said;
        EXPECT_EQ(journal.recording(kRun).trace, is_settled() ? "" : "trace");
        EXPECT_EQ(journal.waiting(), is_settled() ? 3 : 1);
    });
    EXPECT_GT(calls, 5);
    EXPECT_EQ(journal.waiting(), 3);

    const Disk disk(folder_);
    journal.begin("second", "start");
    EXPECT_EQ(disk.lost(), std::vector<std::string>());
}

TEST_F(JournalTest, OfAnotherVersionIsRefusedAndNotChanged) {
    Journal(path_).sit("token");
    SQLite::Database(path_, SQLite::OPEN_READWRITE).exec("PRAGMA user_version = 2");
    EXPECT_THROW(Journal{path_}, JournalError);
    SQLite::Database(path_, SQLite::OPEN_READWRITE).exec("PRAGMA user_version = 3");
    EXPECT_EQ(Journal(path_).seat()->token, "token");
}

TEST_F(JournalTest, WhatIsNoJournalIsAnErrorThatNamesTheFile) {
    std::ofstream(path_) << std::string(5000, 'x');
    EXPECT_THROW(Journal{path_}, JournalError);
    EXPECT_THROW(Journal{"/nonexistent/journal.db"}, JournalError);
}

}  // namespace
}  // namespace happe::study
