// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/store/sqlite_store_fixture.h"
#include "tests/disk.h"

#include <unistd.h>
#include <array>

namespace happe {
namespace {

class SqliteProfileStoreTest : public SqliteStoreFixture {};

TEST_F(SqliteProfileStoreTest, AFreshDatabaseIsOursAndPrivateAndEmpty) {
    const auto store = open();

    EXPECT_EQ(store->find(kAlice).value(), std::nullopt);
    EXPECT_TRUE(store->of_user("alice").value().empty());
    EXPECT_TRUE(store->events_of(kAlice).value().empty());
    EXPECT_EQ(store->take_notice(), std::nullopt);
    EXPECT_EQ(raw("PRAGMA application_id"), 0x48415050);
    EXPECT_EQ(raw("PRAGMA user_version"), 3);
    for (const std::string& name : files()) {
        EXPECT_EQ(fs::status(directory / name).permissions(), kOwner) << name;
    }
}

TEST_F(SqliteProfileStoreTest, ADatabaseThatOthersMayReadBecomesPrivate) {
    static_cast<void>(open());
    fs::permissions(path, kOwnerAndReaders);

    static_cast<void>(open());

    EXPECT_EQ(fs::status(path).permissions(), kOwner);
}

TEST_F(SqliteProfileStoreTest, WhatWasLearnedIsThereAfterwards) {
    Uafp uafp(kLowest);
    const Lesson lesson = lesson_in(uafp, Level{3}, Khz{1'200'000});
    ASSERT_TRUE(open()->learned(kAlice, Uafp(kLowest), lesson, uafp));

    const auto store = open();

    EXPECT_EQ(store->find(kAlice).value(), uafp);
    const auto events = store->events_of(kAlice).value();
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].seq, 1);
    EXPECT_EQ(events[0].at, kNow);
    EXPECT_EQ(events[0].lesson, lesson);
    EXPECT_EQ(raw("SELECT updated_us FROM uafp"), kNow.time_since_epoch().count());
}

TEST_F(SqliteProfileStoreTest, AUsersProfilesComeByApplicationAndSourceAndWithoutOthers) {
    const Served on_battery{.user = "alice", .app = "torcs", .source = PowerSource::Battery};
    const auto store = open();
    ASSERT_TRUE(teach(*store, on_battery, 9, 1'600'000));
    ASSERT_TRUE(teach(*store, {"alice", "torcs"}, 9, 2'200'000));
    ASSERT_TRUE(teach(*store, {"alice", "desktop"}, 9, 1'200'000));
    ASSERT_TRUE(teach(*store, {"alicia", "desktop"}, 9, 1'600'000));

    const auto profiles = store->of_user("alice").value();

    ASSERT_EQ(profiles.size(), 3U);
    EXPECT_EQ(profiles[0].whom, (Served{"alice", "desktop"}));
    EXPECT_EQ(profiles[1].whom, (Served{"alice", "torcs"}));
    EXPECT_EQ(profiles[1].uafp.at(Level{9}), Khz{2'200'000});
    EXPECT_EQ(profiles[2].whom, on_battery);
    EXPECT_EQ(profile(*store, on_battery).at(Level{9}), Khz{1'600'000});
    EXPECT_EQ(learned_khz(*store, on_battery), (std::vector<std::uint32_t>{1'600'000}));
    ASSERT_TRUE(store->erase(on_battery));
    EXPECT_EQ(store->of_user("alice")->size(), 2U);
}

TEST_F(SqliteProfileStoreTest, NamesAreNeitherSqlNorCut) {
    const Served odd{.user = "a'; DROP TABLE uafp; --", .app = std::string("x\0y\xFF", 4)};
    ASSERT_TRUE(teach(*open(), odd, 1, 900'000));

    const auto store = open();

    EXPECT_EQ(profile(*store, odd).at(Level{1}), Khz{900'000});
    EXPECT_EQ(store->of_user(odd.user).value().at(0).whom, odd);
}

TEST_F(SqliteProfileStoreTest, ALessonThatTheTablesWouldRefuseIsNotKept) {
    const auto store = open();
    const Uafp before(kLowest);
    Uafp uafp = before;
    const Lesson good = lesson_in(uafp, Level{0}, Khz{900'000});
    Lesson bad = good;
    bad.current = Khz{0};

    EXPECT_TRUE(
        says(store->learned({"", "torcs"}, before, good, uafp).error().message, "names must have 1 to 255 bytes"));
    EXPECT_FALSE(store->learned({"alice", std::string(256, 'x')}, before, good, uafp));
    EXPECT_FALSE(store->learned(kAlice, before, bad, uafp));
    EXPECT_FALSE(store->learned(kAlice, before, good, Uafp(Khz{0})));
    EXPECT_FALSE(store->learned(kAlice, Uafp(Khz{0}), good, uafp));
    EXPECT_EQ(store->waiting(), 0U);
    EXPECT_TRUE(store->learned({"alice", std::string(255, 'x')}, before, good, uafp));
}

TEST_F(SqliteProfileStoreTest, ErasingRemovesTheProfileAndItsEventsAndGivesNoNumberTwice) {
    const auto store = open();
    ASSERT_TRUE(teach(*store, kBob, 9, 1'200'000));
    ASSERT_TRUE(teach(*store, kAlice, 9, 2'200'000));

    ASSERT_TRUE(store->erase(kAlice));
    ASSERT_TRUE(store->erase({"nobody", "nothing"}));

    EXPECT_EQ(store->find(kAlice).value(), std::nullopt);
    EXPECT_EQ(raw("SELECT count(*) FROM learning_event"), 1);
    ASSERT_TRUE(teach(*store, kAlice, 9, 2'200'000));
    EXPECT_EQ(raw("SELECT max(seq) FROM learning_event"), 3);
}

TEST_F(SqliteProfileStoreTest, WhatIsErasedIsNotInTheFilesAnyMore) {
    const auto store = open();
    const Served secret{"alice", "something nobody else should know of"};
    ASSERT_TRUE(teach(*store, secret, 9, 2'200'000));
    ASSERT_TRUE(store->copy_if_due());
    ASSERT_TRUE(says(text_of(path.string() + "-wal"), secret.app));
    ASSERT_TRUE(says(text_of(path.string() + ".copy"), secret.app));

    ASSERT_TRUE(store->erase(secret));

    EXPECT_FALSE(says(text_of(path.string() + ".copy"), secret.app));

    EXPECT_FALSE(says(text_of(path), secret.app));
    EXPECT_FALSE(says(text_of(path.string() + "-wal"), secret.app));
}

TEST_F(SqliteProfileStoreTest, AReplacedProfileHasNoEventsAndOthersStay) {
    const Served other{.user = "alice", .app = "other"};
    const auto store = open();
    ASSERT_TRUE(teach(*store, kAlice, 3, 1'200'000));
    ASSERT_TRUE(teach(*store, other, 3, 1'200'000));

    ASSERT_TRUE(store->replace({{kAlice, Uafp(Khz{1'600'000})}, {{"alice", "new"}, Uafp(Khz{2'200'000})}}));

    EXPECT_EQ(profile(*store, kAlice), Uafp(Khz{1'600'000}));
    EXPECT_EQ(profile(*store, {"alice", "new"}), Uafp(Khz{2'200'000}));
    EXPECT_TRUE(store->events_of(kAlice)->empty());
    EXPECT_EQ(learned_khz(*store, other), (std::vector<std::uint32_t>{1'200'000}));
}

TEST_F(SqliteProfileStoreTest, AllAreReplacedOrNone) {
    const auto store = open();
    ASSERT_TRUE(teach(*store, kAlice, 3, 1'200'000));
    static_cast<void>(
        raw("CREATE TRIGGER no BEFORE INSERT ON uafp WHEN NEW.app = 'refused' BEGIN SELECT RAISE(ABORT, 'no'); END"));

    EXPECT_FALSE(store->replace({{kAlice, Uafp(Khz{1'600'000})}, {{"alice", "refused"}, Uafp(Khz{1'600'000})}}));
    EXPECT_FALSE(store->replace({{{"", "app"}, Uafp(Khz{1'600'000})}}));

    EXPECT_EQ(learned_khz(*store, kAlice), (std::vector<std::uint32_t>{1'200'000}));
}

TEST_F(SqliteProfileStoreTest, TheTablesHoldMonotonicityWhoeverWrites) {
    static_cast<void>(open());
    const auto insert = [this](const std::string& khz) {
        return raw_error("INSERT INTO uafp VALUES (NULL, 'alice', 'torcs', '', " + khz + ", 0, NULL)");
    };

    EXPECT_TRUE(says(insert("1, 2, 3, 4, 5, 6, 7, 8, 10, 9"), "a UAFP must not descend from one level to the next"));
    EXPECT_TRUE(says(insert("0, 2, 3, 4, 5, 6, 7, 8, 9, 10"), "a UAFP must have 1 to 20000000 kHz at each level"));
    EXPECT_TRUE(says(insert("1, 2, 3, 4, 5, 6, 7, 8, 9, 20000001"), "1 to 20000000 kHz"));
    EXPECT_TRUE(says(insert("1, 2, 3, NULL, 5, 6, 7, 8, 9, 10"), "NOT NULL"));
    EXPECT_TRUE(says(insert("1, 2, 3, 4, 5, 6, 7, 8, 9, 'x'"), "cannot store TEXT"));
    EXPECT_EQ(insert("1, 2, 3, 4, 5, 5, 7, 8, 9, 20000000"), "no error");
    EXPECT_TRUE(says(raw_error("UPDATE uafp SET khz_4 = 6"), "must not descend"));
    EXPECT_TRUE(says(raw_error("UPDATE uafp SET khz_0 = 0"), "1 to 20000000 kHz"));
    EXPECT_EQ(raw_error("UPDATE uafp SET khz_4 = 5"), "no error");
}

TEST_F(SqliteProfileStoreTest, EventsAreOnlyAddedUntilTheirProfileIsErased) {
    ASSERT_TRUE(teach(*open(), kAlice, 9, 2'200'000));

    EXPECT_TRUE(says(raw_error("UPDATE learning_event SET level = 8"), "never changed"));
    EXPECT_TRUE(says(raw_error("DELETE FROM learning_event"), "erased with their profile only"));
    const std::string columns =
        " INTO learning_event (seq, who, t_us, key, undoes, policy, level, from_khz, to_khz, cur_khz, util_ppm) ";
    EXPECT_TRUE(says(raw_error("INSERT OR REPLACE" + columns + "VALUES (1, 1, 0, 'power', NULL, 0, 0, 1, 1, 1, 0)"),
                     "never replaced"));
    for (const std::string bad :
         {"99, 0, 'power', NULL, 0, 0, 1, 1, 1, 0", "1, -1, 'power', NULL, 0, 0, 1, 1, 1, 0",
          "1, 0, 'both', NULL, 0, 0, 1, 1, 1, 0", "1, 0, 'power', NULL, 1024, 0, 1, 1, 1, 0",
          "1, 0, 'power', NULL, 0, 10, 1, 1, 1, 0", "1, 0, 'power', NULL, 0, 0, 0, 1, 1, 0",
          "1, 0, 'power', NULL, 0, 0, 1, 20000001, 1, 0", "1, 0, 'power', NULL, 0, 0, 1, 1, 0, 0",
          "1, 0, 'power', NULL, 0, 0, 1, 1, 1, 1000001", "1, 0, 'power', 1, 0, 0, 1, 1, 1, 0",
          "1, 0, 'undo', NULL, 0, 0, 1, 1, 1, 0", "1, 0, 'undo', 2, 0, 0, 1, 1, 1, 0"}) {
        EXPECT_TRUE(says(raw_error("INSERT" + columns + "VALUES (NULL, " + bad + ")"), "constraint failed")) << bad;
    }
    EXPECT_EQ(raw("SELECT count(*) FROM learning_event"), 1);
    EXPECT_EQ(raw_error("DELETE FROM uafp"), "no error");
    EXPECT_EQ(raw("SELECT count(*) FROM learning_event"), 0);
}

TEST_F(SqliteProfileStoreTest, EventsAreReadFromAnyNumberOnAndNoMoreThanAskedFor) {
    const auto store = open();
    for (std::uint32_t n = 0; n < 5; ++n) {
        ASSERT_TRUE(teach_nth(*store, n % 2 == 0 ? kAlice : kBob, n));  // alice's are 1, 3, 5
    }
    const auto numbers = [&](std::int64_t after, std::size_t most) {
        const auto events = store->events_of(kAlice, after, most).value();
        std::vector<std::int64_t> found;
        std::ranges::transform(events, std::back_inserter(found), &LearningEvent::seq);
        return found;
    };
    using Numbers = std::vector<std::int64_t>;

    EXPECT_EQ(numbers(-1, 9), (Numbers{1, 3, 5}));
    EXPECT_EQ(numbers(0, 2), (Numbers{1, 3}));
    EXPECT_EQ(numbers(1, 1), Numbers{3});
    EXPECT_EQ(numbers(2, 9), (Numbers{3, 5}));
    EXPECT_EQ(numbers(5, 9), Numbers{});
    EXPECT_EQ(numbers(0, 0), Numbers{});
}

// Many lessons at once: they wait while the database takes none.
void teach_many(SqliteProfileStore& store, const std::function<Served(std::size_t)>& whom, std::size_t count) {
    sqlite3* const connection = newest_connection;
    sqlite3_exec(connection, "PRAGMA query_only = ON", nullptr, nullptr, nullptr);
    Uafp uafp(kLowest);
    const Lesson lesson = lesson_in(uafp, Level{5}, Khz{1'200'000});
    for (std::size_t n = 0; n < count; ++n) {
        ASSERT_FALSE(store.learned(whom(n), Uafp(kLowest), lesson, uafp));
    }
    sqlite3_exec(connection, "PRAGMA query_only = OFF", nullptr, nullptr, nullptr);
    ASSERT_TRUE(store.flush());
}

TEST_F(SqliteProfileStoreTest, AProfileKeepsItsTenThousandNewestEvents) {
    const auto store = open();
    ASSERT_TRUE(teach(*store, kBob, 9, 2'200'000));
    teach_many(*store, [](std::size_t) { return kAlice; }, kMostEvents);
    EXPECT_EQ(store->events_of(kAlice)->size(), kMostEvents);

    ASSERT_TRUE(teach(*store, kAlice, 9, 1'600'000));

    const auto kept = store->events_of(kAlice).value();
    EXPECT_EQ(kept.size(), kMostEvents);
    EXPECT_EQ(kept.front().seq, 3);
    EXPECT_EQ(kept.back().lesson.to, Khz{1'600'000});
    EXPECT_EQ(profile(*store, kAlice).at(Level{5}), Khz{1'200'000});
    EXPECT_EQ(store->events_of(kBob)->size(), 1U);
    EXPECT_TRUE(says(raw_error("DELETE FROM learning_event WHERE seq = 3"), "erased with their profile only"));
}

TEST_F(SqliteProfileStoreTest, AUserKeepsTheThousandProfilesThatWereTaughtLast) {
    auto now = kNow;
    const auto store = SqliteProfileStore::open(path, [&] { return now += Micros{1}; }).value();
    ASSERT_TRUE(teach(*store, kBob, 9, 2'200'000));
    teach_many(*store, [](std::size_t n) { return Served{"alice", std::to_string(n)}; }, kMostProfiles);
    EXPECT_EQ(store->of_user("alice")->size(), kMostProfiles);
    ASSERT_TRUE(teach(*store, {"alice", "0"}, 5, 1'600'000));  // the oldest is 1 now

    ASSERT_TRUE(teach(*store, {"alice", "new"}, 5, 1'600'000));
    ASSERT_TRUE(store->replace({{{"alice", "imported"}, Uafp(kLowest)}}));

    EXPECT_EQ(store->of_user("alice")->size(), kMostProfiles);
    for (const char* const gone : {"1", "2"}) {
        EXPECT_EQ(store->find({"alice", gone}).value(), std::nullopt) << gone;
        EXPECT_TRUE(store->events_of({"alice", gone})->empty());
    }
    for (const char* const kept : {"0", "3", "new", "imported"}) {
        EXPECT_NE(store->find({"alice", kept}).value(), std::nullopt) << kept;
    }
    EXPECT_NE(store->find(kBob).value(), std::nullopt);
    EXPECT_EQ(raw("SELECT count(*) FROM learning_event WHERE who NOT IN (SELECT id FROM uafp)"), 0);
}

TEST_F(SqliteProfileStoreTest, ALessonAndACopyAreOnTheDiskWhenTheStoreSaysSo) {
    const Disk disk(directory);
    const auto store = open();
    ASSERT_TRUE(teach(*store, kAlice, 9, 2'200'000));
    EXPECT_EQ(disk.lost(), std::vector<std::string>());
    ASSERT_TRUE(store->copy_if_due());
    ASSERT_TRUE(store->erase(kAlice));
    EXPECT_EQ(disk.lost(), std::vector<std::string>());
}

TEST_F(SqliteProfileStoreTest, OnAFullDiskLessonsWaitInOrderAndAreStoredOnceThereIsSpace) {
    const auto store = open();
    ASSERT_TRUE(teach_nth(*store, kAlice, 0));
    std::uint32_t taught = 1;
    const auto teach_next = [&] { return teach_nth(*store, kAlice, taught++); };
    on_full_disks(directory, teach_next, [&] {
        EXPECT_EQ(raw("SELECT count(*) FROM learning_event") + static_cast<std::int64_t>(store->waiting()), taught);
        EXPECT_EQ(profile(*store, kAlice).at(Level{9}).value, nth_khz(taught).back());
        EXPECT_EQ(learned_khz(*store, kAlice), nth_khz(taught));
    });
    EXPECT_EQ(store->waiting(), 0U);

    Disk full(directory);
    full.full_at(0);
    EXPECT_FALSE(teach_next());
    const Status second = teach_next();
    EXPECT_TRUE(says(second.error().message, "no space is left: free some on its file system"))
        << second.error().message;
    EXPECT_TRUE(says(second.error().message, "2 lessons wait in memory"));
    EXPECT_EQ(store->of_user("alice").value().at(0).uafp, profile(*store, kAlice));
}

TEST_F(SqliteProfileStoreTest, OnAFullDiskTheEarlierCopyStaysAndNoOtherFile) {
    const auto store = open();
    ASSERT_TRUE(teach(*store, kAlice, 9, 2'200'000));
    ASSERT_TRUE(store->copy_if_due());
    const auto before = files();
    const fs::path copy = path.string() + ".copy";
    const auto renew = [&] {
        fs::last_write_time(copy, fs::file_time_type::min());
        static_cast<void>(store->copy_if_due());
    };
    EXPECT_GT(on_full_disks(directory, renew, [&] { EXPECT_EQ(files(), before); }), 5);
    EXPECT_EQ(SQLite::Database(copy.string()).execAndGet("SELECT count(*) FROM uafp").getInt(), 1);
}

TEST_F(SqliteProfileStoreTest, WhileAnotherProgramHasItLockedLessonsWaitUntilAnyLaterCall) {
    const auto store = open();
    SQLite::Database other(path.string(), SQLite::OPEN_READWRITE);
    other.exec("BEGIN IMMEDIATE");

    const Status locked = teach(*store, kAlice, 9, 2'200'000);
    EXPECT_TRUE(says(locked.error().message, "another program has it locked")) << locked.error().message;
    EXPECT_EQ(profile(*store, kAlice).at(Level{9}), Khz{2'200'000});
    EXPECT_EQ(store->events_of(kAlice).value().at(0).seq, 0);

    other.exec("ROLLBACK");
    EXPECT_EQ(store->find(kBob).value(), std::nullopt);

    EXPECT_EQ(store->waiting(), 0U);
    EXPECT_EQ(store->events_of(kAlice).value().at(0).seq, 1);
}

TEST_F(SqliteProfileStoreTest, WaitingLessonsAreErasedWithTheirProfile) {
    const auto store = open();
    sqlite3* const connection = newest_connection;
    ASSERT_TRUE(teach(*store, kAlice, 9, 2'200'000));
    sqlite3_exec(connection, "PRAGMA query_only = ON", nullptr, nullptr, nullptr);
    ASSERT_FALSE(teach(*store, kAlice, 9, 1'200'000));
    EXPECT_FALSE(store->erase(kAlice));
    EXPECT_EQ(profile(*store, kAlice).at(Level{9}), Khz{1'200'000});

    sqlite3_exec(connection, "PRAGMA query_only = OFF", nullptr, nullptr, nullptr);
    EXPECT_TRUE(store->erase(kAlice));

    EXPECT_EQ(store->find(kAlice).value(), std::nullopt);
    EXPECT_EQ(raw("SELECT count(*) FROM learning_event"), 0);
}

TEST_F(SqliteProfileStoreTest, AHundredThousandLessonsWaitAndNoMore) {
    const auto store = open();
    sqlite3* const connection = newest_connection;
    sqlite3_exec(connection, "PRAGMA query_only = ON", nullptr, nullptr, nullptr);
    Uafp uafp(kLowest);
    const Lesson lesson = lesson_in(uafp, Level{5}, Khz{1'200'000});
    for (std::size_t n = 0; n < SqliteProfileStore::kMostWaiting; ++n) {
        ASSERT_FALSE(store->learned({"alice", std::to_string(n / kMostEvents)}, Uafp(kLowest), lesson, uafp));
    }

    const Status lost = store->learned(kBob, Uafp(kLowest), lesson, uafp);
    EXPECT_TRUE(says(lost.error().message, "it is read-only")) << lost.error().message;
    EXPECT_TRUE(
        says(lost.error().message, "100000 lessons wait in memory; memory holds no more lessons, so this one is lost"));
    EXPECT_EQ(store->find(kBob).value(), std::nullopt);

    sqlite3_exec(connection, "PRAGMA query_only = OFF", nullptr, nullptr, nullptr);
    ASSERT_TRUE(store->learned(kBob, Uafp(kLowest), lesson, uafp));
    EXPECT_EQ(raw("SELECT count(*) FROM learning_event"), 100'001);
}

// One of several processes that create, migrate and write the same database at once.
int learn_beside_others(const std::function<Result<std::unique_ptr<SqliteProfileStore>>()>& open_store, int gate,
                        const Served& own) {
    char byte = 0;
    static_cast<void>(::read(gate, &byte, 1));  // ends when the last writer has closed its end
    auto store = open_store();
    for (int tries = 0; tries < 100 && !store; ++tries) {  // it waits a quarter of a second for the others' fsync()s
        store = open_store();
    }
    if (!store) {
        return 1;
    }
    for (std::uint32_t n = 0; n < 50; ++n) {
        static_cast<void>(teach_nth(**store, own, n));
        static_cast<void>(teach_nth(**store, kAlice, n));
    }
    for (int tries = 0; tries < 100 && (*store)->waiting() > 0; ++tries) {
        static_cast<void>((*store)->flush());
    }
    return (*store)->waiting() == 0 && learned_khz(**store, own) == nth_khz(50) && !(*store)->take_notice() ? 0 : 2;
}

TEST_F(SqliteProfileStoreTest, ProcessesThatShareADatabaseLoseNothing) {
    std::array<int, 2> gate{};
    ASSERT_EQ(::pipe(gate.data()), 0);
    std::vector<pid_t> children;
    for (const char* const user : {"one", "two", "three"}) {
        children.push_back(start([&, user] {
            ::close(gate[1]);
            return learn_beside_others([this] { return try_open(); }, gate[0], {.user = user, .app = "torcs"});
        }));
    }
    ::close(gate[1]);
    for (const pid_t child : children) {
        EXPECT_EQ(ended(child), 0);
    }
    ::close(gate[0]);

    EXPECT_EQ(raw("SELECT count(*) FROM learning_event"), 3 * 2 * 50);
    EXPECT_EQ(raw("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"), 1);
}

constexpr Patience kTried{.wait = std::chrono::seconds{600}, .quiet = std::chrono::seconds{7}};

TEST_F(SqliteProfileStoreTest, PatienceIsStoredWithALessonAndWhenAsked) {
    {
        const auto store = open();
        store->keep(kBob, kTried);
        ASSERT_TRUE(store->store_patience()) << "of a profile that is not stored: nothing";
        ASSERT_TRUE(teach(*store, kAlice, 9, 1'200'000));
        ASSERT_TRUE(store->store_patience());
    }
    EXPECT_EQ(open()->patience(kBob), Patience());
    EXPECT_EQ(open()->patience(kAlice), Patience());
    {
        const auto store = open();
        store->keep(kAlice, kTried);
        EXPECT_EQ(store->patience(kAlice), kTried);
    }
    EXPECT_EQ(open()->patience(kAlice), Patience());
    {
        const auto store = open();
        store->keep(kAlice, kTried);
        ASSERT_TRUE(teach(*store, kAlice, 9, 1'600'000));
    }
    EXPECT_EQ(open()->patience(kAlice), kTried);
    EXPECT_EQ(open()->patience({.user = "alice", .app = "torcs", .source = PowerSource::Mains}), kTried);
    {
        const auto store = open();
        store->keep(kAlice, Patience());
        ASSERT_TRUE(store->store_patience());
    }
    EXPECT_EQ(open()->patience(kAlice), Patience());
}

TEST_F(SqliteProfileStoreTest, PatienceGoesWithItsProfileAndWithItsLesson) {
    const auto store = open();
    for (const auto& forget :
         std::vector<std::function<bool()>>{[&] { return store->erase(kAlice).has_value(); },
                                            [&] { return store->replace({{kAlice, Uafp(kLowest)}}).has_value(); },
                                            [&] { return store->undo("alice", "", 1).has_value(); }}) {
        store->keep(kAlice, kTried);
        ASSERT_TRUE(teach(*store, kAlice, 9, 1'600'000));
        ASSERT_TRUE(forget());
        EXPECT_EQ(store->patience(kAlice), Patience());
    }
}

TEST_F(SqliteProfileStoreTest, PatienceThatHappeDidNotWriteIsThatOfANewProfile) {
    ASSERT_TRUE(teach(*open(), kAlice, 9, 1'600'000));
    for (const std::string state :
         {"{\"wait_us\":119999999,\"quiet_us\":0}", "{\"wait_us\":3600000001,\"quiet_us\":0}",
          "{\"wait_us\":600000000,\"quiet_us\":-1}", "{\"wait_us\":600000000,\"quiet_us\":3600000001}",
          "{\"wait_us\":\"x\"}", "[]", "{}x", "no JSON"}) {
        static_cast<void>(raw("UPDATE uafp SET state = '" + state + "'"));
        EXPECT_EQ(open()->patience(kAlice), Patience()) << state;
    }
}

}  // namespace
}  // namespace happe
