// SPDX-License-Identifier: GPL-2.0-or-later
// How the store treats damaged files, its copy of them, and files of other programs.
#include "governor/store/sqlite_store_fixture.h"
#include "tests/disk.h"

#include <map>

namespace happe {
namespace {

class SqliteDamageTest : public SqliteStoreFixture {};

TEST_F(SqliteDamageTest, AFileThatIsNoDatabaseIsSetAsideAndAnEarlierOneIsKept) {
    put_text(path, "garbage of the first kind, more than a hundred bytes of it: " + std::string(100, 'x'));
    EXPECT_TRUE(says(open()->take_notice().value(), "was set aside as " + path.string() +
                                                        ".corrupt-20250101T000000Z; " +
                                                        "there was no copy, so HAPPE starts without profiles"));
    fs::remove(path);
    put_text(path, "short");

    const auto store = open();

    EXPECT_TRUE(teach(*store, kAlice, 9, 2'200'000));
    EXPECT_TRUE(says(store->take_notice().value(), "(file is not a database) and was set aside as"));
    EXPECT_EQ(store->take_notice(), std::nullopt);
    EXPECT_TRUE(says(text_of(path.string() + ".corrupt-20250101T000000Z"), "garbage"));
    EXPECT_EQ(text_of(path.string() + ".corrupt-20250101T000000Z-2"), "short");
}

TEST_F(SqliteDamageTest, OfDamageThatIsMetLaterTheCopyIsTakenAndWhatWaitsIsStoredThere) {
    ASSERT_TRUE(teach(*open(), kAlice, 9, 2'200'000));
    ASSERT_TRUE(open()->copy_if_due());
    damage_root_of("sqlite_autoindex_uafp_1");
    const auto store = open();
    sqlite3* const connection = newest_connection;
    EXPECT_EQ(store->take_notice(), std::nullopt);
    Uafp uafp(kLowest);
    const Lesson first = lesson_in(uafp, Level{3}, Khz{1'200'000});
    sqlite3_exec(connection, "PRAGMA query_only = ON", nullptr, nullptr, nullptr);
    ASSERT_FALSE(store->learned(kBob, Uafp(kLowest), first, uafp));
    sqlite3_exec(connection, "PRAGMA query_only = OFF", nullptr, nullptr, nullptr);
    const Uafp between = uafp;
    const Lesson second = lesson_in(uafp, Level{3}, Khz{1'600'000});

    ASSERT_TRUE(store->learned(kBob, between, second, uafp));

    EXPECT_TRUE(says(store->take_notice().value(), "database disk image is malformed"));
    EXPECT_EQ(store->find(kBob).value(), uafp);
    EXPECT_EQ(profile(*store, kAlice).at(Level{9}), Khz{2'200'000});
    EXPECT_EQ(learned_khz(*store, kBob), (std::vector<std::uint32_t>{1'200'000, 1'600'000}));
    EXPECT_EQ(files(), (std::vector<std::string>{"profiles.db", "profiles.db-shm", "profiles.db-wal",
                                                 "profiles.db.copy", "profiles.db.corrupt-20250101T000000Z",
                                                 "profiles.db.corrupt-20250101T000000Z-shm",
                                                 "profiles.db.corrupt-20250101T000000Z-wal"}));
}

TEST_F(SqliteDamageTest, BehindASymbolicLinkTheFileItselfIsSetAside) {
    fs::create_directory(directory / "elsewhere");
    put_text(directory / "elsewhere" / "real.db", "garbage");
    fs::create_symlink(directory / "elsewhere" / "real.db", path);

    const auto store = open();

    EXPECT_TRUE(teach(*store, kAlice, 9, 2'200'000));
    EXPECT_TRUE(fs::is_symlink(path));
    EXPECT_EQ(text_of(directory / "elsewhere" / "real.db.corrupt-20250101T000000Z"), "garbage");
}

// A database of many pages, of which a copy was made, and which learned more afterwards.
class DamagedPages : public SqliteDamageTest {
protected:
    DamagedPages() {
        const auto store = open();
        sqlite3_exec(newest_connection, "PRAGMA query_only = ON", nullptr, nullptr, nullptr);
        for (std::uint32_t n = 0; n < kProfiles * kLessons; ++n) {
            EXPECT_FALSE(teach_nth(*store, nth(n % kProfiles), n));
        }
        sqlite3_exec(newest_connection, "PRAGMA query_only = OFF", nullptr, nullptr, nullptr);
        EXPECT_TRUE(store->flush());
        then = all(*store);
        EXPECT_TRUE(store->copy_if_due());
        EXPECT_TRUE(teach(*store, nth(0), 9, 2'300'000));
        now = all(*store);
    }

    static Served nth(std::uint32_t n) { return {.user = "alice", .app = "application number " + std::to_string(n)}; }

    static std::map<Served, Uafp> all(SqliteProfileStore& store) {
        std::map<Served, Uafp> profiles;
        for (const StoredProfile& stored : store.of_user("alice").value_or(std::vector<StoredProfile>())) {
            profiles.insert_or_assign(stored.whom, stored.uafp);
        }
        return profiles;
    }

    static constexpr std::uint32_t kProfiles = 200;
    static constexpr std::uint32_t kLessons = 3;  // for each profile
    std::map<Served, Uafp> then;
    std::map<Served, Uafp> now;
};

TEST_F(DamagedPages, EachPageOnceNeverGivesAWrongProfileAndTheCopyIsTaken) {
    constexpr std::uintmax_t kPage = 4096;
    fs::create_directory(directory / "whole");
    for (const char* const name : {"profiles.db", "profiles.db.copy"}) {
        fs::copy_file(directory / name, directory / "whole" / name);
    }
    const std::uintmax_t pages = fs::file_size(path) / kPage;
    ASSERT_GT(pages, 20U);
    for (std::uintmax_t page = 0; page < pages; ++page) {
        SCOPED_TRACE(page);
        for (const char* const name : {"profiles.db", "profiles.db.copy"}) {
            fs::copy_file(directory / "whole" / name, directory / name, fs::copy_options::overwrite_existing);
        }
        overwrite(path, static_cast<std::int64_t>(page * kPage), std::string(kPage, '\xA5'));

        const auto store = open();
        for (std::uint32_t n = 0; n < kProfiles; ++n) {
            const Uafp found = profile(*store, nth(n));
            EXPECT_TRUE(found == then.at(nth(n)) || found == now.at(nth(n))) << n;
            EXPECT_TRUE(store->events_of(nth(n)));
        }
        EXPECT_TRUE(teach(*store, kBob, 9, 2'200'000));
        EXPECT_TRUE(store->erase(kBob));  // makes another copy, and so reads every page

        EXPECT_TRUE(says(store->take_notice().value_or(""), "HAPPE goes on with the copy of 20"));
        EXPECT_EQ(all(*store), then);
        EXPECT_EQ(raw("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"), 1);
    }
}

TEST_F(DamagedPages, ACopyIsMadeADayAfterTheLastOneIfSomethingChangedAndIsSound) {
    const fs::path copy = path.string() + ".copy";
    const auto age = [](const fs::path& file, int hours) {
        fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(hours));
    };
    const auto store = open();
    const auto applications = [&] {
        SQLite::Database database(copy.string(), SQLite::OPEN_READONLY);
        return database.execAndGet("SELECT count(*) FROM uafp").getInt();
    };
    ASSERT_TRUE(teach(*store, nth(kProfiles), 9, 2'300'000));
    age(copy, 23);
    ASSERT_TRUE(store->copy_if_due());
    EXPECT_EQ(applications(), kProfiles) << "not a day old";
    age(copy, 25);
    ASSERT_TRUE(store->copy_if_due());
    EXPECT_EQ(applications(), kProfiles + 1);
    EXPECT_EQ(fs::status(copy).permissions(), kOwner);
    EXPECT_FALSE(fs::exists(copy.string() + "-wal"));

    age(copy, 25);
    age(path, 26);
    age(path.string() + "-wal", 26);
    ASSERT_TRUE(store->copy_if_due());
    EXPECT_LT(fs::last_write_time(copy), fs::file_time_type::clock::now() - std::chrono::hours(24)) << "no change";
}

TEST_F(DamagedPages, OfADamagedDatabaseNoCopyIsMadeAndTheCopyThatIsTakenIsOnTheDisk) {
    fs::last_write_time(path.string() + ".copy", fs::file_time_type::clock::now() - std::chrono::hours(25));
    damage_root_of("learning_event_of_profile");
    const Disk disk(directory);
    const auto store = open();

    ASSERT_TRUE(store->copy_if_due());

    EXPECT_TRUE(says(store->take_notice().value(), "HAPPE goes on with the copy"));
    EXPECT_EQ(disk.lost(), std::vector<std::string>());
    EXPECT_EQ(all(*store), then);
}

TEST_F(DamagedPages, ACopyThatIsDamagedTooIsNotTaken) {
    put_text(path, "rubbish");
    overwrite(path.string() + ".copy", 3 * 4096, std::string(4096, '\xA5'));

    const auto store = open();

    EXPECT_TRUE(says(store->take_notice().value(), "the copy cannot be used ("));
    EXPECT_TRUE(all(*store).empty());
}

TEST_F(DamagedPages, WhatAnInterruptionLeftIsTaken) {
    fs::copy_file(path.string() + ".copy", path.string() + ".new");
    fs::rename(path, directory / "damaged");

    EXPECT_EQ(all(*open()), then);
}

// The state of the disk after a crash: copies of the files while the database is open, with `lessons` in the log.
class AfterACrash : public SqliteDamageTest {
protected:
    AfterACrash() {
        const fs::path before = directory / "before.db";
        const auto store = SqliteProfileStore::open(before, [] { return kNow; }).value();
        for (std::uint32_t n = 0; n < kLessons; ++n) {
            EXPECT_TRUE(teach_nth(*store, kAlice, n));
        }
        fs::copy_file(before, path);
        fs::copy_file(before.string() + "-wal", wal);
    }
    static constexpr std::uint32_t kLessons = 20;
    fs::path wal = path.string() + "-wal";
};

TEST_F(AfterACrash, AWholeLogIsReplayed) {
    const auto store = open();

    EXPECT_EQ(store->take_notice(), std::nullopt);
    EXPECT_EQ(learned_khz(*store, kAlice), nth_khz(kLessons));
}

TEST_F(AfterACrash, ALogCutWithinItsLastLessonLosesThatOneOnly) {
    fs::resize_file(wal, fs::file_size(wal) - 100);

    const auto store = open();

    EXPECT_EQ(store->take_notice(), std::nullopt);
    EXPECT_EQ(learned_khz(*store, kAlice), nth_khz(kLessons - 1));
}

TEST_F(AfterACrash, ALogWhoseDatabaseIsEmptyOrGoneIsSetAsideAndNotDeleted) {
    const std::string log = text_of(wal);
    fs::resize_file(path, 0);
    EXPECT_TRUE(says(open()->take_notice().value(), "missing or empty beside its write-ahead log"));
    EXPECT_EQ(text_of(path.string() + ".corrupt-20250101T000000Z-wal"), log);

    fs::remove(path);
    put_text(wal, log);
    EXPECT_TRUE(open()->take_notice().has_value());
    EXPECT_EQ(text_of(path.string() + ".corrupt-20250101T000000Z-2-wal"), log);
}

TEST_F(AfterACrash, OfARowThatNoTableWouldTakeTheErrorSpeaks) {
    SQLite::Database(path.string(), SQLite::OPEN_READWRITE).exec("DROP TRIGGER uafp_update_is_monotonic");
    ASSERT_EQ(raw_error("UPDATE uafp SET khz_5 = 1"), "no error");
    const auto store = open();

    const auto found = store->find(kAlice);

    EXPECT_TRUE(says(found.error().message, "application \"torcs\" is no UAFP (it descends")) << found.error().message;
    EXPECT_FALSE(store->of_user("alice"));
    Uafp uafp(kLowest);
    EXPECT_TRUE(store->learned(kAlice, Uafp(kLowest), lesson_in(uafp, Level{3}, Khz{1'200'000}), uafp));
    EXPECT_EQ(store->find(kAlice).value(), uafp);
}

TEST_F(SqliteDamageTest, AnotherProgramsDatabaseIsRefusedAndNotTouched) {
    for (const char* const sql : {"PRAGMA application_id = 7; CREATE TABLE t (x)", "CREATE TABLE t (x)"}) {
        fs::remove(path);
        SQLite::Database(path.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE).exec(sql);
        fs::permissions(path, kOwnerAndReaders);
        const std::string before = text_of(path);

        EXPECT_TRUE(says(open_error(), path.string() + ": is a database of another program: move it away"));

        EXPECT_EQ(text_of(path), before);
        EXPECT_EQ(fs::status(path).permissions(), kOwnerAndReaders);
        EXPECT_EQ(files(), std::vector<std::string>{"profiles.db"});
    }
}

TEST_F(SqliteDamageTest, AnotherVersionsDatabaseIsRefusedAndNotTouched) {
    static_cast<void>(open());
    for (const auto& [version, whose] : std::map<std::string, std::string>{{"2", "an earlier"}, {"4", "a newer"}}) {
        ASSERT_EQ(raw_error("PRAGMA user_version = " + version), "no error");
        const std::string before = text_of(path);

        EXPECT_TRUE(
            says(open_error(), "made by " + whose + " HAPPE (tables of version " + version + ", this one knows 3)"));

        EXPECT_EQ(text_of(path), before);
        EXPECT_EQ(files(), std::vector<std::string>{"profiles.db"});
    }
}

TEST_F(AfterACrash, ANewerHappesDatabaseIsRefusedEvenIfOnlyItsLogSaysSo) {
    {
        const auto other = open();
        SQLite::Database(path.string(), SQLite::OPEN_READWRITE).exec("PRAGMA user_version = 4");
        fs::copy_file(path, directory / "newer.db");
        fs::copy_file(wal, directory / "newer.db-wal");
    }
    path = directory / "newer.db";
    const std::string before = text_of(path) + text_of(path.string() + "-wal");

    EXPECT_TRUE(says(open_error(), "newer HAPPE"));

    EXPECT_EQ(text_of(path) + text_of(path.string() + "-wal"), before);
}

TEST_F(SqliteDamageTest, WhatCannotBeAFileIsAnErrorThatNamesIt) {
    put_text(directory / "file", "");
    fs::create_directory(directory / "folder");
    for (const char* const name : {"file/profiles.db", "folder", "missing/profiles.db"}) {
        path = directory / name;
        EXPECT_TRUE(says(open_error(), path.string())) << open_error();
    }
    EXPECT_TRUE(says(open_error(), "No such file or directory"));
}

TEST_F(SqliteDamageTest, TablesThatAreMissingOrOfOtherTypesAreErrors) {
    ASSERT_TRUE(teach(*open(), kAlice, 9, 2'200'000));
    ASSERT_EQ(raw_error("DROP TABLE learning_event"), "no error");
    EXPECT_TRUE(says(
        open_error(),
        "its tables are not HAPPE's: move the file away to start without profiles (no such table: learning_event)"))
        << open_error();

    ASSERT_EQ(raw_error("DROP TABLE uafp"), "no error");
    EXPECT_TRUE(says(open_error(), "no such table: uafp")) << open_error();

    ASSERT_EQ(
        raw_error(
            "CREATE TABLE learning_event (seq, who, t_us, key, undoes, policy, level, from_khz, to_khz, cur_khz, util_ppm,"
            " before_0, before_1, before_2, before_3, before_4, before_5, before_6, before_7, before_8, before_9,"
            " before_state)"),
        "no error");
    ASSERT_EQ(
        raw_error("CREATE TABLE uafp (id, user, app, source, khz_0, khz_1, khz_2, khz_3, khz_4, khz_5, khz_6, khz_7,"
                  " khz_8, khz_9, updated_us, state, UNIQUE (user, app, source))"),
        "no error");
    ASSERT_EQ(
        raw_error(
            "INSERT INTO uafp VALUES (1, 'alice', 'torcs', '', 1, 'two', 3.5, x'00', NULL, 6, 7, 8, 9, 10, 0, NULL)"),
        "no error");
    EXPECT_TRUE(says(open()->find(kAlice).error().message, "khz_1 must be an integer from 1 to 20000000, is \"two\""));
}

TEST_F(SqliteDamageTest, AFileThatIsMovedAwayWhileInUseIsFollowedByAFreshOne) {
    const auto store = open();
    ASSERT_TRUE(teach(*store, kAlice, 9, 2'200'000));
    fs::rename(path, directory / "moved.db");

    ASSERT_TRUE(teach(*store, kBob, 9, 1'200'000));

    EXPECT_TRUE(says(store->take_notice().value(), "was moved or deleted while in use"));
    EXPECT_EQ(open()->find(kBob).value(), store->find(kBob).value());
}

TEST_F(SqliteDamageTest, OfTwoThatShareADamagedFileOneSetsItAsideAndTheOtherFollows) {
    ASSERT_TRUE(teach(*open(), kAlice, 9, 2'200'000));
    damage_root_of("sqlite_autoindex_uafp_1");
    const auto one = open();
    const auto other = open();

    ASSERT_TRUE(teach(*one, kAlice, 9, 1'200'000));
    ASSERT_TRUE(teach(*other, kBob, 9, 1'600'000));

    EXPECT_EQ(profile(*one, kBob).at(Level{9}), Khz{1'600'000});
    EXPECT_EQ(profile(*other, kAlice).at(Level{9}), Khz{1'200'000});
    EXPECT_FALSE(fs::exists(path.string() + ".corrupt-20250101T000000Z-2"));
}

}  // namespace
}  // namespace happe
