// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/study/sitting/journal.h"

#include <SQLiteCpp/VariadicBind.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <system_error>

namespace happe::study {
namespace {

constexpr int kVersion = 3;
constexpr int kBusyMs = 5000;

constexpr const char* kTables =
    "CREATE TABLE seat (one INTEGER PRIMARY KEY CHECK (one = 1), token TEXT NOT NULL, told TEXT NOT NULL) STRICT;"
    "CREATE TABLE practised (application TEXT PRIMARY KEY) STRICT;"
    "CREATE TABLE run (number INTEGER PRIMARY KEY, code TEXT NOT NULL UNIQUE, start_id TEXT NOT NULL,"
    " step INTEGER NOT NULL CHECK (step BETWEEN 0 AND 5), governor_run TEXT NOT NULL DEFAULT '',"
    " notes TEXT NOT NULL DEFAULT '[]', trace TEXT NOT NULL DEFAULT '', facts TEXT NOT NULL DEFAULT '') STRICT;"
    "CREATE TABLE upload (number INTEGER PRIMARY KEY AUTOINCREMENT, about TEXT NOT NULL, method TEXT NOT NULL,"
    " path TEXT NOT NULL, body TEXT NOT NULL, refused TEXT) STRICT;"
    "PRAGMA user_version = 3";

// Creates the file first: SQLite would let everybody read it.
void make_private(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (file < 0 || ::fchmod(file, S_IRUSR | S_IWUSR) != 0) {
        throw JournalError(path + ": " + std::generic_category().message(errno));
    }
    ::close(file);
}

SQLite::Database opened(const std::string& path) try {
    make_private(path);
    return {path, SQLite::OPEN_READWRITE, kBusyMs};
} catch (const SQLite::Exception& error) {
    throw JournalError(path + ": " + error.what());
}

template <typename... Values>
void run_statement(SQLite::Database& database, const char* sql, const Values&... values) {
    SQLite::Statement statement(database, sql);
    SQLite::bind(statement, values...);
    statement.exec();
}

using Json = nlohmann::json;

Upload about_run(const std::string& run, const char* method, const std::string& what, std::string body) {
    return {.number = 0, .about = run, .method = method, .path = "runs/" + run + "/" + what, .body = std::move(body)};
}

}  // namespace

Journal::Journal(const std::string& path) : path_(path), database_(opened(path)) {
    const int version = looked<int>([&] {
        database_.exec("PRAGMA journal_mode = DELETE; PRAGMA synchronous = EXTRA; PRAGMA secure_delete = ON");
        return database_.execAndGet("PRAGMA user_version").getInt();
    });
    if (version == 0) {
        change([&] { database_.exec(kTables); });
    } else if (version != kVersion) {
        throw JournalError(path + ": of another version of happe-study");
    }
}

// Runs the statements in one transaction.
void Journal::change(const std::function<void()>& statements) try {
    database_.exec("BEGIN IMMEDIATE");
    try {
        statements();
        database_.exec("COMMIT");
    } catch (const SQLite::Exception&) {
        database_.tryExec("ROLLBACK");
        throw;
    }
} catch (const SQLite::Exception& error) {
    throw JournalError(path_ + ": " + error.what());
}

template <typename T>
T Journal::looked(const std::function<T()>& statements) try {
    return statements();
} catch (const SQLite::Exception& error) {
    throw JournalError(path_ + ": " + error.what());
}

std::optional<Seat> Journal::seat() {
    return looked<std::optional<Seat>>([&]() -> std::optional<Seat> {
        SQLite::Statement found(database_, "SELECT token, told FROM seat");
        return found.executeStep() ? std::optional(Seat{found.getColumn(0), found.getColumn(1)}) : std::nullopt;
    });
}

void Journal::sit(const std::string& token) {
    change([&] { run_statement(database_, "INSERT OR REPLACE INTO seat VALUES (1, ?1, '')", token); });
}

void Journal::told(const std::string& document) {
    change([&] { run_statement(database_, "UPDATE seat SET told = ?1", document); });
}

void Journal::stand_up() {
    change([&] { database_.exec("DELETE FROM seat; DELETE FROM practised; DELETE FROM run"); });
}

std::set<std::string> Journal::practised() {
    return looked<std::set<std::string>>([&] {
        std::set<std::string> found;
        SQLite::Statement rows(database_, "SELECT application FROM practised");
        while (rows.executeStep()) {
            found.insert(rows.getColumn(0).getString());
        }
        return found;
    });
}

void Journal::practise(const std::string& application) {
    change([&] { run_statement(database_, "INSERT OR IGNORE INTO practised VALUES (?1)", application); });
}

std::vector<KnownRun> Journal::runs() {
    return looked<std::vector<KnownRun>>([&] {
        std::vector<KnownRun> found;
        SQLite::Statement rows(database_, "SELECT code, start_id, governor_run, step, notes FROM run ORDER BY number");
        while (rows.executeStep()) {
            found.push_back({.code = rows.getColumn(0),
                             .start_id = rows.getColumn(1),
                             .governor_run = rows.getColumn(2),
                             .step = static_cast<Step>(rows.getColumn(3).getInt()),
                             .notes = nlohmann::json::parse(rows.getColumn(4).getString())});
        }
        return found;
    });
}

Recording Journal::recording(const std::string& run) {
    return looked<Recording>([&] {
        SQLite::Statement row(database_, "SELECT trace, facts FROM run WHERE code = ?1");
        row.bind(1, run);
        return row.executeStep() ? Recording{row.getColumn(0), row.getColumn(1)} : Recording();
    });
}

void Journal::begin(const std::string& run, const std::string& start_id) {
    change([&] {
        run_statement(database_,
                      "INSERT INTO run (code, start_id, step) VALUES (?1, ?2, 0)"
                      " ON CONFLICT (code) DO UPDATE SET step = 0, governor_run = '', trace = '', facts = ''",
                      run, start_id);
        run_statement(database_, "DELETE FROM upload WHERE path = ?1 AND refused IS NOT NULL",
                      abortion_of(run, "").path);
    });
}

void Journal::running(const std::string& run, const std::string& governor_run) {
    change([&] {
        run_statement(database_, "UPDATE run SET step = 1, governor_run = ?2 WHERE code = ?1", run, governor_run);
    });
}

void Journal::note(const std::string& run, const std::string& text) {
    change([&] {
        run_statement(database_, "UPDATE run SET notes = json_insert(notes, '$[#]', ?2) WHERE code = ?1", run, text);
    });
}

void Journal::ended(const std::string& run, const Recording& recording) {
    change([&] {
        run_statement(database_, "UPDATE run SET step = 2, trace = ?2, facts = ?3 WHERE code = ?1", run,
                      recording.trace, recording.facts);
        put(end_of(run));
    });
}

void Journal::settle(const std::string& run, Step step, const std::vector<Upload>& uploads) {
    change([&] {
        run_statement(database_, "UPDATE run SET step = ?2, trace = '', facts = '' WHERE code = ?1", run,
                      static_cast<int>(step));
        for (const Upload& upload : uploads) {
            put(upload);
        }
    });
}

void Journal::put(const Upload& upload) {
    run_statement(database_, "INSERT INTO upload (about, method, path, body) VALUES (?1, ?2, ?3, ?4)", upload.about,
                  upload.method, upload.path, upload.body);
}

void Journal::post(const Upload& upload) {
    change([&] { put(upload); });
}

std::optional<Upload> Journal::first_upload() {
    return looked<std::optional<Upload>>([&]() -> std::optional<Upload> {
        SQLite::Statement row(database_,
                              "SELECT number, about, method, path, body FROM upload WHERE refused IS NULL"
                              " ORDER BY number LIMIT 1");
        if (!row.executeStep()) {
            return std::nullopt;
        }
        return Upload{.number = row.getColumn(0).getInt64(),
                      .about = row.getColumn(1),
                      .method = row.getColumn(2),
                      .path = row.getColumn(3),
                      .body = row.getColumn(4)};
    });
}

std::int64_t Journal::waiting() {
    return looked<std::int64_t>(
        [&] { return database_.execAndGet("SELECT count(*) FROM upload WHERE refused IS NULL").getInt64(); });
}

void Journal::sent(std::int64_t number) {
    change([&] { run_statement(database_, "DELETE FROM upload WHERE number = ?1", number); });
}

void Journal::refused(std::int64_t number, const std::string& why) {
    change([&] { run_statement(database_, "UPDATE upload SET refused = ?2 WHERE number = ?1", number, why); });
}

std::vector<Refusal> Journal::refusals() {
    return looked<std::vector<Refusal>>([&] {
        std::vector<Refusal> found;
        SQLite::Statement rows(database_,
                               "SELECT about, path, refused FROM upload WHERE refused IS NOT NULL ORDER BY number");
        while (rows.executeStep()) {
            found.push_back({rows.getColumn(0), rows.getColumn(1), rows.getColumn(2)});
        }
        return found;
    });
}

void Journal::send_refused_again() {
    change([&] { database_.exec("UPDATE upload SET refused = NULL"); });
}

Upload end_of(const std::string& run) {
    return about_run(run, "PUT", "end", "");
}

Upload rating_of(const std::string& run, const std::string& id, int rating) {
    return about_run(run, "PUT", "rating", Json({{"id", id}, {"rating", rating}}).dump());
}

Upload guess_of(const std::string& run, const std::string& id, const std::string& choice) {
    return about_run(run, "PUT", "guess", Json({{"id", id}, {"guess", choice}}).dump());
}

Upload record_of(const std::string& run, const std::string& id, const std::string& record) {
    return about_run(run, "PUT", "record/" + id, record);
}

Upload abortion_of(const std::string& run, const std::string& reason) {
    return about_run(run, "POST", "abort", Json({{"reason", reason}}).dump());
}

Upload clock_of(const std::string& id, const std::string& boot, const std::vector<Probe>& probes) {
    return {.number = 0,
            .about = "clock",
            .method = "PUT",
            .path = "device/clocks/" + id,
            .body = Json({{"clock", "monotonic:" + boot}, {"probes", probes}}).dump()};
}

}  // namespace happe::study
