// SPDX-License-Identifier: GPL-2.0-or-later
// The store salvages the readable rows of a damaged database.
#include "governor/store/sqlite_store_fixture.h"
#include "governor/system/embedded.h"

#include <sys/resource.h>
#include <csignal>
#include <map>
#include <utility>

namespace happe {
namespace {

constexpr std::uint32_t kProfiles = 200;
constexpr std::uint32_t kLessons = 3;  // for each profile
constexpr std::size_t kPage = 4096;
const std::string kRubbish(kPage, '\xA5');

Served nth(std::uint32_t n) {
    return {.user = "alice", .app = "application number " + std::to_string(n)};
}

class SalvageTest : public SqliteStoreFixture {
protected:
    SalvageTest() {
        const auto store = open();
        sqlite3_exec(newest_connection, "PRAGMA query_only = ON", nullptr, nullptr, nullptr);
        for (std::uint32_t n = 0; n < kProfiles * kLessons; ++n) {
            EXPECT_FALSE(teach_nth(*store, nth(n % kProfiles), n));
        }
        sqlite3_exec(newest_connection, "PRAGMA query_only = OFF", nullptr, nullptr, nullptr);
        EXPECT_TRUE(store->flush());
        for (const StoredProfile& stored : store->of_user("alice").value_or(std::vector<StoredProfile>())) {
            taught.insert_or_assign(stored.whom, stored.uafp);
        }
    }

    // Reads every profile and writes one, so that the store meets the damage. Returns what the store reports.
    std::string read_all(SqliteProfileStore& store) const {
        static_cast<void>(store.of_user("alice"));
        for (std::uint32_t n = 0; n < kProfiles; ++n) {
            static_cast<void>(store.events_of(nth(n)));
        }
        EXPECT_TRUE(teach(store, kBob, 9, 2'200'000));
        EXPECT_TRUE(store.erase(kBob));
        return store.take_notice().value_or("");
    }

    [[nodiscard]] std::int64_t profiles() const { return raw("SELECT count(*) FROM uafp"); }
    [[nodiscard]] std::int64_t lessons() const { return raw("SELECT count(*) FROM learning_event"); }

    std::map<Served, Uafp> taught;
};

std::string counts(std::int64_t profiles, std::int64_t lessons) {
    return std::to_string(profiles) + " profiles and " + std::to_string(lessons) + " lessons ";
}

TEST_F(SalvageTest, APageThatIsRubbishCostsItsOwnRowsAlone) {
    fs::copy_file(path, directory / "whole");
    const std::uintmax_t pages = fs::file_size(path) / kPage;
    std::int64_t lost_profiles = 0;
    std::int64_t lost_lessons = 0;
    int not_met = 0;
    for (std::uintmax_t page = 0; page < pages; ++page) {
        fs::copy_file(directory / "whole", path, fs::copy_options::overwrite_existing);
        overwrite(path, static_cast<std::int64_t>(page * kPage), kRubbish);

        const auto store = open();
        const std::string told = read_all(*store);

        if (told.empty()) {
            ++not_met;
            continue;
        }
        const std::int64_t kept = profiles();
        EXPECT_TRUE(says(told, counts(kept, lessons()) + "came back, at least " +
                                   counts(kProfiles - kept, (kProfiles * kLessons) - lessons()) + "did not"))
            << page << ": " << told;
        lost_profiles += kProfiles - kept;
        lost_lessons += (kProfiles * kLessons) - lessons();
        const auto all = store->of_user("alice").value();
        for (const StoredProfile& stored : all) {
            EXPECT_EQ(stored.uafp, taught.at(stored.whom));
        }
        EXPECT_EQ(raw("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"), 1);
    }
    EXPECT_EQ(not_met, 1) << "the index of what is undone, which is empty";
    EXPECT_EQ(lost_profiles, kProfiles) << "each row lies on one page";
    EXPECT_GE(lost_lessons, kProfiles * kLessons) << "and goes with its profile";
}

TEST_F(SalvageTest, WhatIsOnlyInTheLogComesBackToo) {
    const auto store = open();
    ASSERT_TRUE(teach(*store, nth(1), 9, 2'300'000));
    const Uafp newest = profile(*store, nth(1));
    fs::copy_file(path, directory / "crashed.db");
    fs::copy_file(path.string() + "-wal", directory / "crashed.db-wal");
    path = directory / "crashed.db";
    overwrite(path, 0, kRubbish);

    const auto salvaged = open();

    EXPECT_EQ(profiles(), kProfiles);
    EXPECT_EQ(lessons(), (kProfiles * kLessons) + 1);
    EXPECT_EQ(profile(*salvaged, nth(1)), newest);
    EXPECT_EQ(salvaged->undo("alice", "", 1)->lessons.at(0).whom, nth(1));
    EXPECT_EQ(profile(*salvaged, nth(1)), taught.at(nth(1)));
}

TEST_F(SalvageTest, ALogThatNamesAPageNoFileHoldsCostsNothing) {
    const auto store = open();
    ASSERT_TRUE(teach(*store, nth(1), 9, 2'300'000));
    fs::copy_file(path, directory / "crashed.db");
    fs::copy_file(path.string() + "-wal", directory / "crashed.db-wal");
    path = directory / "crashed.db";
    overwrite(path, 0, kRubbish);
    constexpr std::int64_t kFirstFramesPage = 32;
    overwrite(path.string() + "-wal", kFirstFramesPage, std::string(4, '\xFF'));

    const auto salvaged = open();

    EXPECT_EQ(profiles(), kProfiles);
}

TEST_F(SalvageTest, AnEarlierVersionsRowsComeBack) {
    fs::remove(path);
    {
        SQLite::Database old(path.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
        old.exec("PRAGMA application_id = 1212239952");
        old.exec(std::string(embedded::sql_0001_profiles()));
        old.exec(
            "INSERT INTO uafp VALUES (7, 'alice', 'torcs', 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);"
            "INSERT INTO learning_event VALUES (9, 7, 12, 'power', 1, 9, 11, 10, 11, 500000); PRAGMA user_version = 1");
    }
    overwrite(path, 0, std::string(100, '\xA5'));

    const auto store = open();

    EXPECT_EQ(profile(*store, kAlice).at(Level{9}), Khz{10});
    EXPECT_EQ(store->events_of(kAlice)->at(0).seq, 9);
    EXPECT_EQ(store->undo("alice", "", 1)->end,
              "lesson 9 cannot be undone: the earlier HAPPE that learned it did not store the values before it");
}

TEST_F(SalvageTest, KilledAnywhereItLosesNothing) {
    overwrite(path, 0, kRubbish);
    for (int operations = 100;; operations *= 2) {
        const int status = ended(start([&] {
            operations_until_killed = operations;
            return try_open() ? 0 : 1;
        }));
        if (status != -1) {
            EXPECT_EQ(status, 0);
            break;
        }
    }
    EXPECT_EQ(profiles(), kProfiles);
    EXPECT_EQ(lessons(), kProfiles * kLessons);

    // Between the two renamings.
    fs::rename(path, path.string() + ".salvaged");
    EXPECT_EQ(open()->of_user("alice")->size(), kProfiles);
}

// Returns the number of the step that failed.
int salvage_in_a_limited_file(const std::function<std::string()>& open_error, const fs::path& path) {
    static_cast<void>(std::signal(SIGXFSZ, SIG_IGN));
    rlimit limit{};
    ::getrlimit(RLIMIT_FSIZE, &limit);
    const rlim_t before = std::exchange(limit.rlim_cur, 50'000);
    ::setrlimit(RLIMIT_FSIZE, &limit);
    if (open_error() == "no error" || !fs::exists(path)) {
        return 1;
    }
    limit.rlim_cur = before;
    ::setrlimit(RLIMIT_FSIZE, &limit);
    return open_error() == "no error" ? 0 : 2;
}

TEST_F(SalvageTest, OnAFullDiskTheDamagedFileStaysUntilThereIsSpace) {
    overwrite(path, 0, kRubbish);

    EXPECT_EQ(ended(start([&] { return salvage_in_a_limited_file([&] { return open_error(); }, path); })), 0);

    EXPECT_EQ(profiles(), kProfiles);
    EXPECT_EQ(lessons(), kProfiles * kLessons);
}

}  // namespace
}  // namespace happe
