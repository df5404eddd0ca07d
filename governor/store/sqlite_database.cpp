// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/store/sqlite_database.h"

#include "governor/store/sqlite_file.h"
#include "governor/system/embedded.h"

#include <SQLiteCpp/Backup.h>
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

constexpr std::int64_t kVersion = 3;  // of the tables in profiles/profiles.sql

constexpr const char* kFind =
    "SELECT khz_0, khz_1, khz_2, khz_3, khz_4, khz_5, khz_6, khz_7, khz_8, khz_9 FROM uafp"
    " WHERE user = ?1 AND app = ?2 AND source = ?3";

constexpr const char* kOfUser =
    "SELECT khz_0, khz_1, khz_2, khz_3, khz_4, khz_5, khz_6, khz_7, khz_8, khz_9, app, source FROM uafp"
    " WHERE user = ?1 ORDER BY app, source";

constexpr const char* kPut =
    "INSERT INTO uafp (khz_0, khz_1, khz_2, khz_3, khz_4, khz_5, khz_6, khz_7, khz_8, khz_9, user, app, source,"
    " updated_us) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)"
    " ON CONFLICT (user, app, source) DO UPDATE SET khz_0 = excluded.khz_0, khz_1 = excluded.khz_1, khz_2 = excluded.khz_2,"
    " khz_3 = excluded.khz_3, khz_4 = excluded.khz_4, khz_5 = excluded.khz_5, khz_6 = excluded.khz_6,"
    " khz_7 = excluded.khz_7, khz_8 = excluded.khz_8, khz_9 = excluded.khz_9, updated_us = excluded.updated_us"
    " RETURNING id";

// Prefers the profile's own state to that of the profile from which it starts.
constexpr const char* kStateOf =
    "SELECT json_extract(state, '$.wait_us'), json_extract(state, '$.quiet_us') FROM uafp"
    " WHERE user = ?1 AND app = ?2 AND source IN (?3, ?4) AND json_valid(state) ORDER BY source <> ?3 LIMIT 1";

constexpr const char* kKeep =
    "UPDATE uafp SET state = json_object('wait_us', ?4, 'quiet_us', ?5) WHERE user = ?1 AND app = ?2 AND source = ?3";

// Runs before the database has the lesson's new state, so that before_state is the old one.
constexpr const char* kAddEvent =
    "INSERT INTO learning_event (before_0, before_1, before_2, before_3, before_4, before_5, before_6, before_7,"
    " before_8, before_9, before_state, who, t_us, key, policy, level, from_khz, to_khz, cur_khz, util_ppm)"
    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, (SELECT state FROM uafp WHERE id = ?11), ?11, ?12, ?13, ?14,"
    " ?15, ?16, ?17, ?18, ?19)";

constexpr const char* kEventsOf =
    "SELECT seq, t_us, key, policy, level, from_khz, to_khz, cur_khz, util_ppm, undoes FROM learning_event"
    " WHERE who = (SELECT id FROM uafp WHERE user = ?1 AND app = ?2 AND source = ?3) AND seq > ?4 ORDER BY seq LIMIT ?5";

// Finds each profile's newest lesson by the index, and returns the newest of these.
constexpr const char* kNewestLesson =
    "SELECT max((SELECT seq FROM learning_event AS lesson WHERE who = uafp.id AND seq < ?3 AND key <> 'undo'"
    " AND NOT EXISTS (SELECT 1 FROM learning_event WHERE undoes = lesson.seq) ORDER BY seq DESC LIMIT 1))"
    " FROM uafp WHERE user = ?1 AND (?2 = '' OR (app = ?2 AND source = ?4))";

constexpr const char* kLesson =
    "SELECT seq, t_us, key, policy, level, from_khz, to_khz, cur_khz, util_ppm, undoes, khz_0, khz_1, khz_2, khz_3,"
    " khz_4, khz_5, khz_6, khz_7, khz_8, khz_9, before_0, before_1, before_2, before_3, before_4, before_5, before_6,"
    " before_7, before_8, before_9, user, app, source, who FROM learning_event JOIN uafp ON uafp.id = who"
    " WHERE seq = ?1";
constexpr int kLessonsProfile = 10;  // kLesson's first column of the profile
constexpr int kLessonsBefore = 20;
constexpr int kLessonsUser = 30;

constexpr const char* kRestore =
    "UPDATE uafp SET khz_0 = before_0, khz_1 = before_1, khz_2 = before_2, khz_3 = before_3, khz_4 = before_4,"
    " khz_5 = before_5, khz_6 = before_6, khz_7 = before_7, khz_8 = before_8, khz_9 = before_9, state = before_state,"
    " updated_us = ?2 FROM learning_event WHERE seq = ?1 AND uafp.id = who";

constexpr const char* kAddUndoing =
    "INSERT INTO learning_event (who, t_us, key, undoes, policy, level, from_khz, to_khz, cur_khz, util_ppm)"
    " SELECT who, ?2, 'undo', seq, policy, level, to_khz, from_khz, cur_khz, util_ppm FROM learning_event"
    " WHERE seq = ?1";

constexpr const char* kDropProfiles =
    "DELETE FROM uafp WHERE id IN"
    " (SELECT id FROM uafp WHERE user = ?1 ORDER BY updated_us DESC, id DESC LIMIT -1 OFFSET ?2)";

constexpr const char* kDropEvents =
    "DELETE FROM learning_event WHERE who = ?1 AND seq <="
    " (SELECT seq FROM learning_event WHERE who = ?1 ORDER BY seq DESC LIMIT 1 OFFSET ?2)";

constexpr const char* kErase = "DELETE FROM uafp WHERE user = ?1 AND app = ?2 AND source = ?3";

// Runs a statement that has no answer.
template <typename... Values>
void run(SQLite::Database& connection, const char* sql, const Values&... values) {
    SQLite::Statement statement(connection, sql);
    SQLite::bind(statement, values...);
    statement.exec();
}

// Checks the promises of STRICT tables and their constraints, because a damaged page may have anything.
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

PowerSource source(const SQLite::Statement& row, int column) {
    const std::string name = row.getColumn(column).getString();
    for (const PowerSource known : {PowerSource::Both, PowerSource::Mains, PowerSource::Battery}) {
        if (name == name_of(known)) {
            return known;
        }
    }
    throw Refused(fmt::format(R"(source must be "", "mains" or "battery", is "{}")", name));
}

// Reads a UAFP from ten columns.
Uafp uafp(const SQLite::Statement& row, const Served& whom, int first = 0) try {
    Uafp::Values values{};
    for (int level = 0; level < static_cast<int>(values.size()); ++level) {
        values.at(static_cast<std::size_t>(level)) = khz(row, first + level);
    }
    const auto parsed = Uafp::from(values);
    if (!parsed) {
        throw Refused("it descends from one level to the next");
    }
    return *parsed;
} catch (const Refused& why) {
    throw Refused(
        fmt::format(R"(the profile of user "{}" and application "{}" is no UAFP ({}); erase it to start it again)",
                    whom.user, whom.app, why.what()));
}

// Binds a UAFP to the first ten parameters. Returns the last one's number.
int bind(SQLite::Statement& statement, const Uafp& uafp) {
    int parameter = 0;
    for (const Khz value : uafp.values()) {
        statement.bind(++parameter, value.value);
    }
    return parameter;
}

// Reads an event from the first columns of kEventsOf and kLesson.
LearningEvent event(const SQLite::Statement& row) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    const std::string key = row.getColumn(2).getString();
    return {.seq = bounded(row, 0, 1, kMost),
            .at = WallTime(Micros(bounded(row, 1, 0, kMost))),
            .lesson = {.key = key == name_of(Key::Performance) ? Key::Performance : Key::Power,
                       .policy = {static_cast<std::uint16_t>(bounded(row, 3, 0, kHighestPolicyId.value))},
                       .level = {static_cast<std::uint8_t>(bounded(row, 4, 0, Uafp::kLevels - 1))},
                       .from = khz(row, 5),
                       .to = khz(row, 6),
                       .current = khz(row, 7),
                       .utilisation = {static_cast<std::uint32_t>(bounded(row, 8, 0, kOne.value))},
                       .probe = key == "probe"},
            .undoes = row.getColumn(9).isNull() ? 0 : bounded(row, 9, 1, kMost)};
}

std::uint32_t big_endian(const std::array<unsigned char, 100>& bytes, std::size_t offset) {
    return static_cast<std::uint32_t>(bytes.at(offset)) << 24U |
           static_cast<std::uint32_t>(bytes.at(offset + 1)) << 16U |
           static_cast<std::uint32_t>(bytes.at(offset + 2)) << 8U | bytes.at(offset + 3);
}

// 0 is a database without tables.
void refuse_other(std::int64_t version) {
    if (version != kVersion && version != 0) {
        throw Refused(
            fmt::format("was made by {} HAPPE (tables of version {}, this one knows {}): install that one again,"
                        " or move the file away to start without profiles",
                        version > kVersion ? "a newer" : "an earlier", version, kVersion));
    }
}

void check_pages_of(SQLite::Database& connection) {
    const std::string found = connection.execAndGet("PRAGMA quick_check(1)").getString();
    if (found != "ok") {
        throw Damaged(found);
    }
}

}  // namespace

Database::Database(const std::filesystem::path& path, int busy_ms)
    : connection_(path.string(), SQLite::OPEN_READWRITE, busy_ms) {
    closing_leaves_files(true);  // closed unchanged until the checks have passed
    check_header();
    make_private(path);
    configure();
    make_tables();
    for (const char* const sql : {kFind, kAddEvent}) {
        static_cast<void>(SQLite::Statement(connection_, sql));  // an error now if the tables are others
    }
    closing_leaves_files(false);
}

// Runs before SQLite reads anything: even a first statement may replay a log, and HAPPE must not touch another
// program's database. The header is that of sqlite.org/fileformat2.html: user_version at byte 60, application_id at 68.
// A log may hold a newer user_version, so make_tables() reads it again.
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
    refuse_other(big_endian(header, 60));
}

// Sets application_id first, while changes still go to the file itself and not to a log: check_header() reads it there.
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

void Database::make_tables() {
    if (const std::int64_t found = pragma("user_version"); found != 0) {
        refuse_other(found);
        return;
    }
    SQLite::Transaction transaction(connection_, SQLite::TransactionBehavior::IMMEDIATE);
    connection_.exec(std::string(embedded::sql_profiles()));
    connection_.exec(fmt::format("PRAGMA user_version = {}", kVersion));
    transaction.commit();
}

std::int64_t Database::pragma(const char* name) {
    return connection_.execAndGet(fmt::format("PRAGMA {}", name)).getInt64();
}

std::optional<Uafp> Database::find(const Served& whom) {
    SQLite::Statement row(connection_, kFind);
    SQLite::bind(row, whom.user, whom.app, name_of(whom.source));
    return row.executeStep() ? std::optional<Uafp>(uafp(row, whom)) : std::nullopt;
}

std::vector<StoredProfile> Database::of_user(const std::string& user) {
    std::vector<StoredProfile> profiles;
    SQLite::Statement row(connection_, kOfUser);
    row.bind(1, user);
    while (row.executeStep()) {
        const Served whom{.user = user,
                          .app = row.getColumn(static_cast<int>(Uafp::kLevels)).getString(),
                          .source = source(row, static_cast<int>(Uafp::kLevels) + 1)};
        profiles.push_back({whom, uafp(row, whom)});
    }
    return profiles;
}

std::vector<LearningEvent> Database::events_of(const Served& whom, std::int64_t after, std::size_t most) {
    std::vector<LearningEvent> events;
    SQLite::Statement rows(connection_, kEventsOf);
    SQLite::bind(rows, whom.user, whom.app, name_of(whom.source), after, static_cast<std::int64_t>(most));
    while (rows.executeStep()) {
        events.push_back(event(rows));
    }
    return events;
}

Patience Database::patience(const Served& whom) {
    SQLite::Statement row(connection_, kStateOf);
    SQLite::bind(row, whom.user, whom.app, name_of(whom.source), name_of(begins_as(whom).source));
    if (!row.executeStep()) {
        return {};
    }
    const Patience stored{.wait = Micros(row.getColumn(0).getInt64()), .quiet = Micros(row.getColumn(1).getInt64())};
    const bool sound = stored.wait >= Patience::kFirst && stored.wait <= Patience::kMost && stored.quiet >= Micros{0} &&
                       stored.quiet <= Patience::kMost;
    return sound ? stored : Patience();
}

void Database::keep(const std::map<Served, Patience>& all) {
    SQLite::Transaction transaction(connection_, SQLite::TransactionBehavior::IMMEDIATE);
    for (const auto& [whom, patience] : all) {
        keep_one(whom, patience);
    }
    transaction.commit();
}

void Database::keep_one(const Served& whom, const Patience& patience) {
    run(connection_, kKeep, whom.user, whom.app, name_of(whom.source), std::int64_t{patience.wait.count()},
        std::int64_t{patience.quiet.count()});
}

void Database::store(const std::deque<WaitingLesson>& lessons, std::size_t count) {
    SQLite::Transaction transaction(connection_, SQLite::TransactionBehavior::IMMEDIATE);
    std::set<std::string> users;
    std::set<std::int64_t> taught;
    SQLite::Statement put(connection_, kPut);
    SQLite::Statement add(connection_, kAddEvent);
    for (std::size_t n = 0; n < count; ++n) {
        users.insert(lessons[n].whom.user);
        taught.insert(store_one(put, add, lessons[n]));
    }
    std::ranges::for_each(taught, [this](std::int64_t who) { drop_oldest_events(who); });
    std::ranges::for_each(users, [this](const std::string& user) { drop_oldest_profiles(user); });
    transaction.commit();
}

void Database::drop_oldest_profiles(const std::string& user) {
    run(connection_, kDropProfiles, user, std::int64_t{kMostProfiles});
}

void Database::drop_oldest_events(std::int64_t who) {
    run(connection_, kDropEvents, who, std::int64_t{kMostEvents});
}

// Returns the profile's id.
std::int64_t Database::store_one(SQLite::Statement& put, SQLite::Statement& add, const WaitingLesson& waiting) {
    const Lesson& lesson = waiting.event.lesson;
    const std::int64_t who = Database::put(put, waiting.whom, waiting.after, waiting.event.at);
    const std::int64_t at = waiting.event.at.time_since_epoch().count();
    int column = bind(add, waiting.before);
    add.bind(++column, who);
    add.bind(++column, at);
    add.bind(++column, cause_of(lesson));
    for (const std::uint32_t value :
         {std::uint32_t{lesson.policy.value}, std::uint32_t{lesson.level.value}, lesson.from.value, lesson.to.value,
          lesson.current.value, lesson.utilisation.value}) {
        add.bind(++column, value);
    }
    add.exec();
    add.reset();
    if (waiting.patience) {
        keep_one(waiting.whom, *waiting.patience);
    }
    return who;
}

Undone Database::undo(const std::string& user, const std::string& profile, std::size_t most, WallTime at) {
    SQLite::Transaction transaction(connection_, SQLite::TransactionBehavior::IMMEDIATE);
    Undone undone;
    std::int64_t newest = std::numeric_limits<std::int64_t>::max();
    while (undone.end.empty() && undone.lessons.size() < most) {
        newest = newest_lesson(served_of(user, profile), newest);
        undone.end = newest == 0 ? "no lesson is left to undo" : undo_one(newest, at, undone.lessons);
    }
    transaction.commit();
    return undone;
}

// 0 if there is none.
std::int64_t Database::newest_lesson(const Served& whom, std::int64_t before) {
    SQLite::Statement found(connection_, kNewestLesson);
    SQLite::bind(found, whom.user, whom.app, before, name_of(whom.source));
    return found.executeStep() ? found.getColumn(0).getInt64() : 0;
}

// Returns the reason if it cannot undo the lesson; otherwise an empty text. The profile must be the result of this
// lesson. Otherwise a row is missing, and the values from before this lesson are not the previous ones.
std::string Database::undo_one(std::int64_t seq, WallTime at, std::vector<UndoneLesson>& undone) {
    SQLite::Statement row(connection_, kLesson);
    row.bind(1, seq);
    row.executeStep();
    const Served whom{.user = row.getColumn(kLessonsUser).getString(),
                      .app = row.getColumn(kLessonsUser + 1).getString(),
                      .source = source(row, kLessonsUser + 2)};
    if (row.getColumn(kLessonsBefore).isNull()) {
        return fmt::format("lesson {} cannot be undone: its record has no values from before it", seq);
    }
    const LearningEvent lesson = event(row);
    Uafp after = uafp(row, whom, kLessonsBefore);
    after.learn(lesson.lesson.level, lesson.lesson.to);
    if (after != uafp(row, whom, kLessonsProfile)) {
        return fmt::format("lesson {} cannot be undone: the record of what followed it is incomplete", seq);
    }
    const std::int64_t who = row.getColumn(kLessonsUser + 3).getInt64();
    for (const char* const sql : {kRestore, kAddUndoing}) {
        run(connection_, sql, seq, std::int64_t{at.time_since_epoch().count()});
    }
    drop_oldest_events(who);
    undone.push_back({whom, lesson});
    return {};
}

// Returns the row's id.
std::int64_t Database::put(SQLite::Statement& statement, const Served& whom, const Uafp& uafp, WallTime at) {
    int column = bind(statement, uafp);
    statement.bind(++column, whom.user);
    statement.bind(++column, whom.app);
    statement.bind(++column, name_of(whom.source));
    statement.bind(++column, std::int64_t{at.time_since_epoch().count()});
    statement.executeStep();
    const std::int64_t id = statement.getColumn(0).getInt64();
    statement.reset();
    return id;
}

void Database::replace(const std::vector<StoredProfile>& profiles, WallTime at) {
    SQLite::Transaction transaction(connection_, SQLite::TransactionBehavior::IMMEDIATE);
    std::set<std::string> users;
    SQLite::Statement statement(connection_, kPut);
    for (const auto& [whom, uafp] : profiles) {
        erase_row(whom);
        put(statement, whom, uafp, at);
        users.insert(whom.user);
    }
    std::ranges::for_each(users, [this](const std::string& user) { drop_oldest_profiles(user); });
    transaction.commit();
}

void Database::erase(const Served& whom) {
    erase_row(whom);
    // Removes the profile from the log too, unless a reader still uses the log.
    static_cast<void>(connection_.tryExec("PRAGMA wal_checkpoint(TRUNCATE)"));
}

void Database::erase_row(const Served& whom) {
    run(connection_, kErase, whom.user, whom.app, name_of(whom.source));
}

// The copy has no write-ahead log, so that it is one file.
void Database::copy_to(const std::filesystem::path& path) {
    SQLite::Database copy(path.string(), SQLite::OPEN_READWRITE);
    if (SQLite::Backup(copy, connection_).executeStep(-1) != SQLITE_DONE) {
        throw std::runtime_error("another program has the database locked, so it cannot be copied");
    }
    copy.exec("PRAGMA journal_mode = DELETE");
    check_pages_of(copy);
}

void Database::check_pages() {
    check_pages_of(connection_);
}

bool Database::moved() {
    int moved = 0;
    connection_.check(sqlite3_file_control(connection_.getHandle(), "main", SQLITE_FCNTL_HAS_MOVED, &moved));
    return moved != 0;
}

void Database::closing_leaves_files(bool leaves) {
    connection_.check(
        sqlite3_db_config(connection_.getHandle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, leaves ? 1 : 0, nullptr));
}

}  // namespace happe::sqlite
