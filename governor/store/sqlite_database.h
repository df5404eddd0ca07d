// SPDX-License-Identifier: GPL-2.0-or-later
// An open device database and its statements. All functions throw SQLite::Exception, Damaged or Refused;
// SqliteProfileStore converts them into errors in words.
#pragma once

#include "governor/core/profile_store.h"
#include "governor/store/learning_event.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace happe::sqlite {

// The file is damaged.
class Damaged : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// The file is sound, but belongs to another program or another version of HAPPE, or has values that HAPPE never writes.
class Refused : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

class Database {
public:
    // Opens an existing file; an empty file becomes a database. Hold the DirectoryLock.
    Database(const std::filesystem::path& path, int busy_ms);

    [[nodiscard]] std::optional<Uafp> find(const Served& whom);
    [[nodiscard]] std::vector<StoredProfile> of_user(const std::string& user);
    [[nodiscard]] std::vector<LearningEvent> events_of(const Served& whom, std::int64_t after, std::size_t most);

    // The state of a profile. If it has none, the state of the profile from which it starts. Ignores state that HAPPE
    // did not write.
    [[nodiscard]] Patience patience(const Served& whom);

    // Stores the state of each of these profiles that is in the database, in one transaction.
    void keep(const std::map<Served, Patience>& all);

    // Stores the first `count` lessons, in one transaction.
    void store(const std::deque<WaitingLesson>& lessons, std::size_t count);

    // See SqliteProfileStore::undo.
    Undone undo(const std::string& user, const std::string& profile, std::size_t most, WallTime at);
    void erase(const Served& whom);

    // Stores each profile as given and erases the events of the profile that it replaces, all in one transaction.
    void replace(const std::vector<StoredProfile>& profiles, WallTime at);

    // Writes the whole database into another file, which must exist, and checks the result.
    void copy_to(const std::filesystem::path& path);

    // Reads the structure of every page, and throws Damaged at the first fault.
    void check_pages();

    // True if the path now leads to another file, or to none.
    [[nodiscard]] bool moved();

    // After this, closing leaves the files unchanged: no checkpoint, no deletion of the WAL.
    void leave_files() { closing_leaves_files(true); }

private:
    void check_header();
    void configure();
    void make_tables();
    [[nodiscard]] std::int64_t pragma(const char* name);
    void closing_leaves_files(bool leaves);
    void keep_one(const Served& whom, const Patience& patience);
    static std::int64_t put(SQLite::Statement& statement, const Served& whom, const Uafp& uafp, WallTime at);
    std::int64_t store_one(SQLite::Statement& put, SQLite::Statement& add, const WaitingLesson& waiting);
    [[nodiscard]] std::int64_t newest_lesson(const Served& whom, std::int64_t before);
    std::string undo_one(std::int64_t seq, WallTime at, std::vector<UndoneLesson>& undone);
    void drop_oldest_profiles(const std::string& user);
    void drop_oldest_events(std::int64_t who);
    void erase_row(const Served& whom);

    SQLite::Database connection_;
};

}  // namespace happe::sqlite
