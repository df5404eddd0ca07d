// SPDX-License-Identifier: GPL-2.0-or-later
// The store migrates databases of earlier versions with all their rows, or leaves them unchanged.
#include "governor/store/sqlite_store_fixture.h"
#include "governor/system/embedded.h"

#include <sys/resource.h>
#include <csignal>
#include <sstream>
#include <utility>

namespace happe {
namespace {

constexpr int kProfiles = 200;
constexpr int kEvents = 5'000;

class SqliteMigrationTest : public SqliteStoreFixture {
protected:
    // A database of that version of HAPPE, which has erased the newest profile and the newest event.
    void make(int version) const {
        SQLite::Database database(path.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
        database.exec("PRAGMA application_id = 1212239952; PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON");
        database.exec(std::string(embedded::sql_0001_profiles()));
        if (version > 1) {
            database.exec(std::string(embedded::sql_0002_bounds()));
        }
        database.exec("PRAGMA user_version = " + std::to_string(version));
        std::ostringstream rows;
        rows << "BEGIN; WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n <= " << kProfiles
             << ") INSERT INTO uafp SELECT NULL, 'user ' || (n % 7), 'app ' || n, 800000, 800000, 800000 + n, 1200000,"
             << " 1200000, 1200000, 1600000, 1600000 + n, 2200000, 2200000, n FROM n;"
             << "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n <= " << kEvents
             << ") INSERT INTO learning_event SELECT NULL, 1 + n % " << kProfiles
             << ", n, iif(n % 3, 'power', 'performance'), n % 1024, n % 10, 800000 + n, 1200000, 800000, n FROM n;"
             << "INSERT INTO learning_event SELECT NULL, " << kProfiles + 1
             << ", 1, 'power', 0, 0, 1, 1, 1, 1; DELETE FROM uafp WHERE id = " << kProfiles + 1 << "; COMMIT";
        database.exec(rows.str());
    }

    // All columns of versions 1 and 2, in one text.
    [[nodiscard]] std::string dump() const {
        SQLite::Database database(path.string(), SQLite::OPEN_READWRITE);
        std::string all;
        for (const std::string query :
             {"SELECT id, user, app, khz_0, khz_1, khz_2, khz_3, khz_4, khz_5, khz_6, khz_7, khz_8, khz_9, updated_us"
              " FROM uafp ORDER BY id",
              "SELECT seq, who, t_us, key, policy, level, from_khz, to_khz, cur_khz, util_ppm FROM learning_event"
              " ORDER BY seq",
              "SELECT name, seq FROM sqlite_sequence ORDER BY name", "PRAGMA integrity_check",
              "PRAGMA foreign_key_check"}) {
            SQLite::Statement rows(database, query);
            while (rows.executeStep()) {
                for (int column = 0; column < rows.getColumnCount(); ++column) {
                    all += rows.getColumn(column).getString() + ' ';
                }
                all += '\n';
            }
        }
        return all;
    }
};

TEST_F(SqliteMigrationTest, EachEarlierVersionBecomesTodaysWithAllItHolds) {
    for (const int version : {1, 2}) {
        fs::remove(path);
        make(version);
        const std::string before = dump();

        const auto store = open();

        EXPECT_EQ(dump(), before) << version;
        EXPECT_EQ(raw("PRAGMA user_version"), 3);
        EXPECT_EQ(store->take_notice(), std::nullopt);
        ASSERT_TRUE(teach(*store, {"user 1", "app 1"}, 9, 2'300'000));
        EXPECT_EQ(store->events_of({"user 1", "app 1"})->back().seq, kEvents + 3) << "after one that was erased";
        ASSERT_TRUE(store->erase({"user 1", "app 1"}));
        EXPECT_EQ(raw("SELECT count(*) FROM learning_event WHERE who = 1"), 0);
    }
}

TEST_F(SqliteMigrationTest, KilledAnywhereItLeavesTheOldOrTheNew) {
    make(2);
    const std::string before = dump();
    int kills = 0;
    for (int operations = 100;; operations *= 2) {
        const int status = ended(start([&] {
            operations_until_killed = operations;
            return try_open() ? 0 : 1;
        }));
        EXPECT_EQ(dump(), before) << operations;
        if (status != -1) {
            EXPECT_EQ(status, 0);
            break;
        }
        ++kills;
    }
    EXPECT_GT(kills, 8);
    EXPECT_EQ(raw("PRAGMA user_version"), 3);
}

// Returns the number of the step that failed.
int migrate_in_a_limited_file(const std::function<std::string()>& open_error, rlim_t most) {
    static_cast<void>(std::signal(SIGXFSZ, SIG_IGN));
    rlimit limit{};
    ::getrlimit(RLIMIT_FSIZE, &limit);
    const rlim_t before = std::exchange(limit.rlim_cur, most);
    ::setrlimit(RLIMIT_FSIZE, &limit);
    if (!says(open_error(), "reading or writing failed")) {
        return 1;
    }
    limit.rlim_cur = before;
    ::setrlimit(RLIMIT_FSIZE, &limit);
    return open_error() == "no error" ? 0 : 2;
}

TEST_F(SqliteMigrationTest, OnAFullDiskItFailsAndSucceedsOnceThereIsSpace) {
    make(2);
    const std::string before = dump();
    const std::uintmax_t size = fs::file_size(path);
    for (const std::uintmax_t more : {0U, 4'096U, 100'000U}) {
        fs::copy_file(path, directory / "old.db", fs::copy_options::skip_existing);
        fs::copy_file(directory / "old.db", path, fs::copy_options::overwrite_existing);

        EXPECT_EQ(
            ended(start([&] { return migrate_in_a_limited_file([&] { return open_error(); }, size / 2 + more); })), 0);

        EXPECT_EQ(dump(), before) << more;
        EXPECT_EQ(raw("PRAGMA user_version"), 3);
    }
}

}  // namespace
}  // namespace happe
