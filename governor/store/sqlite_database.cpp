// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/store/sqlite_database.h"

#include "governor/store/sqlite_file.h"
#include "governor/system/embedded.h"

#include <SQLiteCpp/VariadicBind.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <string_view>

namespace happe::sqlite {
namespace {

constexpr std::int64_t kApplicationId = 0x48415050;  // "HAPP"

// Number N, from 1, brings a database of user_version N - 1 to N.
constexpr std::array kMigrations{embedded::sql_0001_profiles, embedded::sql_0002_bounds};
constexpr std::int64_t kVersion = kMigrations.size();

constexpr const char* kFind =
    "SELECT khz_0, khz_1, khz_2, khz_3, khz_4, khz_5, khz_6, khz_7, khz_8, khz_9 FROM uafp"
    " WHERE user = ?1 AND app = ?2";

constexpr const char* kOfUser =
    "SELECT khz_0, khz_1, khz_2, khz_3, khz_4, khz_5, khz_6, khz_7, khz_8, khz_9, app FROM uafp"
    " WHERE user = ?1 ORDER BY app";

constexpr const char* kPut =
    "INSERT INTO uafp (khz_0, khz_1, khz_2, khz_3, khz_4, khz_5, khz_6, khz_7, khz_8, khz_9, user, app, updated_us)"
    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)"
    " ON CONFLICT (user, app) DO UPDATE SET khz_0 = excluded.khz_0, khz_1 = excluded.khz_1, khz_2 = excluded.khz_2,"
    " khz_3 = excluded.khz_3, khz_4 = excluded.khz_4, khz_5 = excluded.khz_5, khz_6 = excluded.khz_6,"
    " khz_7 = excluded.khz_7, khz_8 = excluded.khz_8, khz_9 = excluded.khz_9, updated_us = excluded.updated_us"
    " RETURNING id";

constexpr const char* kAddEvent =
    "INSERT INTO learning_event (who, t_us, key, policy, level, from_khz, to_khz, cur_khz, util_ppm)"
    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";

constexpr const char* kEventsOf =
    "SELECT seq, t_us, key, policy, level, from_khz, to_khz, cur_khz, util_ppm FROM learning_event"
    " WHERE who = (SELECT id FROM uafp WHERE user = ?1 AND app = ?2) AND seq > ?3 ORDER BY seq LIMIT ?4";

constexpr const char* kDropProfiles =
    "DELETE FROM uafp WHERE id IN"
    " (SELECT id FROM uafp WHERE user = ?1 ORDER BY updated_us DESC, id DESC LIMIT -1 OFFSET ?2)";

constexpr const char* kDropEvents =
    "DELETE FROM learning_event WHERE who = ?1 AND seq <="
    " (SELECT seq FROM learning_event WHERE who = ?1 ORDER BY seq DESC LIMIT 1 OFFSET ?2)";

constexpr const char* kErase = "DELETE FROM uafp WHERE user = ?1 AND app = ?2";

// A kept statement while it is used: afterwards it holds no lock.
class Use {
public:
    template <typename... Values>
    explicit Use(SQLite::Statement& statement, const Values&... values) : statement_(statement) {
        SQLite::bind(statement, values...);
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    ~Use() { statement_.tryReset(); }

    bool next() { return statement_.executeStep(); }

private:
    SQLite::Statement& statement_;
};

// What STRICT tables and their constraints promise; a damaged page may hold anything.
std::int64_t bounded(const SQLite::Statement& row, int column, std::int64_t least, std::int64_t most) {
    const SQLite::Column value = row.getColumn(column);
    if (!value.isInteger() || value.getInt64() < least || value.getInt64() > most) {
        throw Refused(fmt::format(R"({} must be an integer from {} to {}, is "{}")", value.getName(), least, most,
                                  value.getString()));
    }
    return value.getInt64();
}

Khz khz(const SQLite::Statement& row, int column) {
    return Khz{static_cast<std::uint32_t>(bounded(row, column, 1, kHighestKhz.value))};
}

// From the first ten columns.
Uafp uafp(const SQLite::Statement& row, const Served& whom) try {
    Uafp::Values values{};
    for (int level = 0; level < static_cast<int>(values.size()); ++level) {
        values.at(static_cast<std::size_t>(level)) = khz(row, level);
    }
    const auto parsed = Uafp::from(values);
    if (!parsed) {
        throw Refused("it descends from one level to the next");
    }
    return *parsed;
} catch (const Refused& why) {
    throw Refused(
        fmt::format(R"(the profile of user "{}" and application "{}" is no UAFP ({}); erase it to begin it anew)",
                    whom.user, whom.app, why.what()));
}

// The columns of kEventsOf.
LearningEvent event(const SQLite::Statement& row) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    const bool performance = row.getColumn(2).getString() == name_of(Key::Performance);
    return {.seq = bounded(row, 0, 1, kMost),
            .at = WallTime(Micros(bounded(row, 1, 0, kMost))),
            .lesson = {.key = performance ? Key::Performance : Key::Power,
                       .policy = {static_cast<std::uint16_t>(bounded(row, 3, 0, kHighestPolicyId.value))},
                       .level = {static_cast<std::uint8_t>(bounded(row, 4, 0, Uafp::kLevels - 1))},
                       .from = khz(row, 5),
                       .to = khz(row, 6),
                       .current = khz(row, 7),
                       .utilisation = {static_cast<std::uint32_t>(bounded(row, 8, 0, kOne.value))}}};
}

std::uint32_t big_endian(const std::array<unsigned char, 100>& bytes, std::size_t offset) {
    return static_cast<std::uint32_t>(bytes.at(offset)) << 24U |
           static_cast<std::uint32_t>(bytes.at(offset + 1)) << 16U |
           static_cast<std::uint32_t>(bytes.at(offset + 2)) << 8U | bytes.at(offset + 3);
}

void refuse_newer(std::int64_t version) {
    if (version > kVersion) {
        throw Refused(
            fmt::format("was made by a newer HAPPE (tables of version {}, this one knows {}): install that one again,"
                        " or move the file away to begin anew",
                        version, kVersion));
    }
}

}  // namespace

Database::Database(const std::filesystem::path& path, int busy_ms)
    : connection_(path.string(), SQLite::OPEN_READWRITE, busy_ms) {
    closing_leaves_files(true);  // until all is known to be well
    check_header();
    make_private(path);
    configure();
    migrate();
    find_.emplace(connection_, kFind);
    of_user_.emplace(connection_, kOfUser);
    put_.emplace(connection_, kPut);
    add_event_.emplace(connection_, kAddEvent);
    drop_profiles_.emplace(connection_, kDropProfiles);
    drop_events_.emplace(connection_, kDropEvents);
    closing_leaves_files(false);
}

// Before SQLite reads anything: a first statement may already replay a log, and another program's database is not ours
// to touch. The header is that of sqlite.org/fileformat2.html: user_version at byte 60, application_id at 68. A log may
// hold a newer user_version, so migrate() asks again.
void Database::check_header() {
    sqlite3_file* file = nullptr;
    connection_.check(
        sqlite3_file_control(connection_.getHandle(), "main", SQLITE_FCNTL_FILE_POINTER, static_cast<void*>(&file)));
    sqlite3_int64 size = 0;
    connection_.check(file->pMethods->xFileSize(file, &size));
    if (size == 0) {
        return;
    }
    std::array<unsigned char, 100> header{};
    if (size >= static_cast<sqlite3_int64>(header.size())) {
        connection_.check(file->pMethods->xRead(file, header.data(), static_cast<int>(header.size()), 0));
    }
    constexpr std::string_view kMagic("SQLite format 3\0", 16);
    if (!std::equal(kMagic.begin(), kMagic.end(), header.begin())) {
        throw Damaged("file is not a database");
    }
    if (big_endian(header, 68) != kApplicationId) {
        throw Refused("is a database of another program: move it away, or name another file");
    }
    refuse_newer(big_endian(header, 60));
}

// application_id first, while changes still go to the file itself and not to a log: check_header() relies on it.
void Database::configure() {
    connection_.exec(
        "PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL; PRAGMA trusted_schema = OFF;"
        "PRAGMA cell_size_check = ON; PRAGMA secure_delete = ON");
    if (pragma("application_id") != kApplicationId) {
        connection_.exec(fmt::format("PRAGMA application_id = {}", kApplicationId));
    }
    const std::string mode = connection_.execAndGet("PRAGMA journal_mode = WAL").getString();
    if (mode != "wal") {
        throw Refused(
            fmt::format("cannot have a write-ahead log here (journal_mode is {}): use a local file system", mode));
    }
}

// All that are missing in one transaction: whoever waits for the DirectoryLock waits for one commit.
void Database::migrate() {
    if (const std::int64_t found = pragma("user_version"); found >= kVersion) {
        refuse_newer(found);
        return;
    }
    SQLite::Transaction transaction(connection_, SQLite::TransactionBehavior::IMMEDIATE);
    for (std::int64_t version = pragma("user_version") + 1; version <= kVersion; ++version) {
        connection_.exec(std::string(kMigrations.at(static_cast<std::size_t>(version - 1))()));
        connection_.exec(fmt::format("PRAGMA user_version = {}", version));
    }
    transaction.commit();
}

std::int64_t Database::pragma(const char* name) {
    return connection_.execAndGet(fmt::format("PRAGMA {}", name)).getInt64();
}

std::optional<Uafp> Database::find(const Served& whom) {
    Use use(*find_, whom.user, whom.app);
    return use.next() ? std::optional<Uafp>(uafp(*find_, whom)) : std::nullopt;
}

std::vector<StoredProfile> Database::of_user(const std::string& user) {
    std::vector<StoredProfile> profiles;
    Use use(*of_user_, user);
    while (use.next()) {
        const Served whom{.user = user, .app = of_user_->getColumn(static_cast<int>(Uafp::kLevels)).getString()};
        profiles.push_back({whom, uafp(*of_user_, whom)});
    }
    return profiles;
}

std::vector<LearningEvent> Database::events_of(const Served& whom, std::int64_t after, std::size_t most) {
    std::vector<LearningEvent> events;
    SQLite::Statement rows(connection_, kEventsOf);
    SQLite::bind(rows, whom.user, whom.app, after, static_cast<std::int64_t>(most));
    while (rows.executeStep()) {
        events.push_back(event(rows));
    }
    return events;
}

void Database::store(const std::deque<WaitingLesson>& lessons, std::size_t count) {
    SQLite::Transaction transaction(connection_, SQLite::TransactionBehavior::IMMEDIATE);
    std::set<std::string> users;
    std::set<std::int64_t> taught;
    for (std::size_t n = 0; n < count; ++n) {
        users.insert(lessons[n].whom.user);
        taught.insert(store_one(lessons[n]));
    }
    std::ranges::for_each(taught, [this](std::int64_t who) { drop_oldest_events(who); });
    std::ranges::for_each(users, [this](const std::string& user) { drop_oldest_profiles(user); });
    transaction.commit();
}

void Database::drop_oldest_profiles(const std::string& user) {
    Use(*drop_profiles_, user, std::int64_t{kMostProfiles}).next();
}

void Database::drop_oldest_events(std::int64_t who) {
    Use(*drop_events_, who, std::int64_t{kMostEvents}).next();
}

// Returns the profile's id.
std::int64_t Database::store_one(const WaitingLesson& waiting) {
    const auto& [key, policy, level, from, to, current, utilisation] = waiting.event.lesson;
    const std::int64_t who = put(waiting.whom, waiting.after, waiting.event.at);
    const std::int64_t at = waiting.event.at.time_since_epoch().count();
    Use add(*add_event_, who, at, name_of(key), std::uint32_t{policy.value}, std::uint32_t{level.value}, from.value,
            to.value, current.value, utilisation.value);
    add.next();
    return who;
}

// Returns the row's id.
std::int64_t Database::put(const Served& whom, const Uafp& uafp, WallTime at) {
    Use put(*put_);
    int column = 0;
    for (const Khz value : uafp.values()) {
        put_->bind(++column, value.value);
    }
    put_->bind(++column, whom.user);
    put_->bind(++column, whom.app);
    put_->bind(++column, std::int64_t{at.time_since_epoch().count()});
    put.next();
    return put_->getColumn(0).getInt64();
}

void Database::replace(const std::vector<StoredProfile>& profiles, WallTime at) {
    SQLite::Transaction transaction(connection_, SQLite::TransactionBehavior::IMMEDIATE);
    std::set<std::string> users;
    for (const auto& [whom, uafp] : profiles) {
        erase_row(whom);
        put(whom, uafp, at);
        users.insert(whom.user);
    }
    std::ranges::for_each(users, [this](const std::string& user) { drop_oldest_profiles(user); });
    transaction.commit();
}

void Database::erase(const Served& whom) {
    erase_row(whom);
    static_cast<void>(
        connection_.tryExec("PRAGMA wal_checkpoint(TRUNCATE)"));  // nor does the log keep it, if it can be helped
}

void Database::erase_row(const Served& whom) {
    SQLite::Statement statement(connection_, kErase);
    SQLite::bind(statement, whom.user, whom.app);
    statement.exec();
}

bool Database::moved() {
    int moved = 0;
    connection_.check(sqlite3_file_control(connection_.getHandle(), "main", SQLITE_FCNTL_HAS_MOVED, &moved));
    return moved != 0;
}

// sqlite3_system_errno() doesn't know of what goes wrong in a commit; the files do.
int Database::system_error() {
    for (const int which : {SQLITE_FCNTL_JOURNAL_POINTER, SQLITE_FCNTL_FILE_POINTER}) {
        sqlite3_file* file = nullptr;
        int error = 0;
        sqlite3_file_control(connection_.getHandle(), "main", which, static_cast<void*>(&file));
        if (file != nullptr && file->pMethods != nullptr) {
            file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &error);
        }
        if (error != 0) {
            return error;
        }
    }
    return 0;
}

void Database::closing_leaves_files(bool leaves) {
    connection_.check(
        sqlite3_db_config(connection_.getHandle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, leaves ? 1 : 0, nullptr));
}

}  // namespace happe::sqlite
