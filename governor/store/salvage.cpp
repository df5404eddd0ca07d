// SPDX-License-Identifier: GPL-2.0-or-later
// Copies the rows of a damaged database, of this version or an earlier one, into a fresh database.
#include "governor/store/sqlite_database.h"

#include <sqlite3.h>
#include <algorithm>
#include <set>

namespace happe::sqlite {
namespace {

using Value = Wreck::Value;

constexpr const char* kProfile =
    "INSERT INTO uafp (id, user, app, source, khz_0, khz_1, khz_2, khz_3, khz_4, khz_5, khz_6, khz_7, khz_8, khz_9,"
    " updated_us, state) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)";

constexpr const char* kEvent =
    "INSERT INTO learning_event (seq, who, t_us, key, undoes, policy, level, from_khz, to_khz, cur_khz, util_ppm,"
    " before_0, before_1, before_2, before_3, before_4, before_5, before_6, before_7, before_8, before_9, before_state)"
    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22)";

// Columns: those of 0003_sources_and_undo.sql, and of the versions before it.
constexpr std::size_t kProfileColumns = 16;
constexpr std::size_t kOldProfileColumns = 14;
constexpr std::ptrdiff_t kSourceColumn = 3;
constexpr std::size_t kEventColumns = 22;
constexpr std::size_t kOldEventColumns = 10;
constexpr std::ptrdiff_t kUndoesColumn = 4;

std::optional<std::vector<Value>> whole(const Wreck::Row& row, std::size_t columns, std::size_t old_columns,
                                        std::ptrdiff_t added, const Value& value) {
    std::vector<Value> values = row.values;
    if (row.indexed || (values.size() != columns && values.size() != old_columns)) {
        return std::nullopt;
    }
    if (values.size() == old_columns) {
        values.insert(values.begin() + added, value);
        values.resize(columns);
    }
    values.front() = row.rowid;
    return values;
}

std::optional<std::vector<Value>> profile(const Wreck::Row& row) {
    return whole(row, kProfileColumns, kOldProfileColumns, kSourceColumn, std::string());
}

std::optional<std::vector<Value>> event(const Wreck::Row& row) {
    return whole(row, kEventColumns, kOldEventColumns, kUndoesColumn, Value());
}

// The rows that the indexes name. An index's row ends with the number of the table's row: (user, app, id), (user, app,
// source, id) and (who, seq).
struct Named {
    std::set<std::int64_t> profiles;
    std::set<std::int64_t> lessons;

    void read(const Wreck::Row& row) {
        if (!row.indexed || row.values.size() < 2) {
            return;
        }
        const auto* const number = std::get_if<std::int64_t>(&row.values.back());
        const auto* const who = std::get_if<std::int64_t>(&row.values.front());
        if (number != nullptr && who == nullptr && row.values.size() > 2) {
            profiles.insert(*number);
        } else if (number != nullptr && who != nullptr && row.values.size() == 2) {
            lessons.insert(*number);
        }
    }
};

std::size_t without(const std::set<std::int64_t>& named, const std::set<std::int64_t>& stored) {
    return static_cast<std::size_t>(
        std::ranges::count_if(named, [&](std::int64_t number) { return !stored.contains(number); }));
}

}  // namespace

// True if the tables accept the row.
bool Database::take(SQLite::Statement& insert, const std::vector<Value>& values) try {
    insert.reset();
    for (int column = 0; const Value& value : values) {
        ++column;
        if (const auto* const number = std::get_if<std::int64_t>(&value)) {
            insert.bind(column, *number);
        } else if (const auto* const text = std::get_if<std::string>(&value)) {
            insert.bind(column, *text);
        } else {
            insert.bind(column);
        }
    }
    insert.exec();
    return true;
} catch (const SQLite::Exception& error) {
    if ((error.getErrorCode() & 0xFF) != SQLITE_CONSTRAINT) {
        throw;
    }
    insert.tryReset();
    return false;
}

// Copies profiles first, because each event belongs to a profile.
Salvaged Database::salvage(Wreck& wreck) {
    SQLite::Transaction transaction(connection_, SQLite::TransactionBehavior::IMMEDIATE);
    SQLite::Statement add_profile(connection_, kProfile);
    SQLite::Statement add_event(connection_, kEvent);
    Named named;
    Named stored;
    wreck.each_row([&](const Wreck::Row& row) {
        named.read(row);
        if (const auto values = profile(row)) {
            named.profiles.insert(row.rowid);
            if (take(add_profile, *values)) {
                stored.profiles.insert(row.rowid);
            }
        }
    });
    wreck.each_row([&](const Wreck::Row& row) {
        if (const auto values = event(row)) {
            named.lessons.insert(row.rowid);
            if (const auto* const who = std::get_if<std::int64_t>(&values->at(1))) {
                named.profiles.insert(*who);
            }
            if (take(add_event, *values)) {
                stored.lessons.insert(row.rowid);
            }
        }
    });
    transaction.commit();
    connection_.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    return {.profiles = stored.profiles.size(),
            .lessons = stored.lessons.size(),
            .lost_profiles = without(named.profiles, stored.profiles),
            .lost_lessons = without(named.lessons, stored.lessons)};
}

}  // namespace happe::sqlite
