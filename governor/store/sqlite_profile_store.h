// SPDX-License-Identifier: GPL-2.0-or-later
// The device database: profiles/profiles.sql.
#pragma once

#include "governor/core/profile_store.h"
#include "governor/store/learning_event.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace happe {

namespace sqlite {
class Database;
class DirectoryLock;
}  // namespace sqlite

// For one thread. If a call finds the file damaged, it renames it to PATH.corrupt-YYYYMMDDThhmmssZ, with its -wal and
// -shm, and continues with what PATH.copy holds, or without profiles if that cannot be used. take_notice() then reports
// it. The lessons that wait stay.
class SqliteProfileStore final : public ProfileStore {
public:
    static constexpr std::size_t kMostWaiting = 100'000;
    static constexpr int kBusyMs = 250;  // how long a call, and so the loop, waits for another program's lock

    // Creates the file (mode 0600, in an existing directory) unless it exists. Refuses a database of another program or
    // of another version of HAPPE, and leaves it unchanged. Finds damage only where it reads, now or later: to read the
    // whole file takes too long.
    static Result<std::unique_ptr<SqliteProfileStore>> open(const std::filesystem::path& path, WallClock wall_clock);

    SqliteProfileStore(const SqliteProfileStore&) = delete;
    SqliteProfileStore& operator=(const SqliteProfileStore&) = delete;
    ~SqliteProfileStore() override;

    // All functions below first try to store the lessons that wait. find, of_user and events_of answer as if these were
    // stored.
    [[nodiscard]] Result<std::optional<Uafp>> find(const Served& whom) override;
    [[nodiscard]] Result<std::vector<StoredProfile>> of_user(const std::string& user) override;

    // keep() holds the state in memory. The profile's next lesson or store_patience() stores it, but only if the
    // profile itself is stored.
    [[nodiscard]] Patience patience(const Served& whom) override;
    void keep(const Served& whom, const Patience& patience) override { kept_.insert_or_assign(whom, patience); }
    [[nodiscard]] Status store_patience();

    // Stores the event and the profile's new value together or not at all. Drops a lesson that the database could
    // never accept (a name of 256 bytes), or if kMostWaiting lessons wait already; the error says so.
    [[nodiscard]] Status learned(const Served& whom, const Uafp& before, const Lesson& lesson,
                                 const Uafp& after) override;

    // A profile's events in the order of learning: the oldest `most` with numbers above `after`.
    [[nodiscard]] Result<std::vector<LearningEvent>> events_of(const Served& whom, std::int64_t after = 0,
                                                               std::size_t most = kMostEvents + kMostWaiting);

    // Undoes up to `most` of a user's newest lessons that are not undone yet, in one transaction. Unless `profile` is
    // empty, only lessons of that profile. Each profile then is as it was before the oldest of these lessons.
    [[nodiscard]] Result<Undone> undo(const std::string& user, const std::string& profile, std::size_t most);

    // Removes a profile, its events, and its waiting lessons, from the files and the copy too. A profile that does not
    // exist is not an error.
    [[nodiscard]] Status erase(const Served& whom);

    // Stores these profiles unchanged, all or none, at most kMostProfiles of a user. Erases earlier lessons of the same
    // users and applications.
    [[nodiscard]] Status replace(const std::vector<StoredProfile>& profiles);

    // Stores the lessons that wait. The destructor discards errors, so call this before the process ends.
    [[nodiscard]] Status flush();
    [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }

    // Replaces PATH.copy if there is none, or if the database has changed since and the copy is a day old. Fails, and
    // leaves the old copy, unless SQLite finds every page of the new one sound.
    [[nodiscard]] Status copy_if_due();

    // News for the owner about the file since the last call: the store has set a damaged file aside, or the file
    // disappeared during use.
    [[nodiscard]] std::optional<std::string> take_notice();

private:
    SqliteProfileStore(std::filesystem::path path, WallClock wall_clock);

    Status attempt(const std::function<void(sqlite::Database&)>& work);
    sqlite::Database& connected();
    void connect();
    void begin_anew(const std::string& damage);
    void take_copy(const std::string& damage, const sqlite::DirectoryLock& lock);
    std::string prepare_copy();
    void renew_copy(sqlite::Database& database);
    void forget_in_copy(sqlite::Database& database);
    std::filesystem::path put_in_place(const sqlite::DirectoryLock& lock);
    [[nodiscard]] std::filesystem::path copy_path() const { return path_.string() + ".copy"; }
    [[nodiscard]] std::filesystem::path new_path() const { return path_.string() + ".new"; }
    void notice(const std::string& text);
    void forget_waiting(const Served& whom);
    [[nodiscard]] Error in_words(const std::exception& error) const;

    std::filesystem::path path_;
    WallClock wall_clock_;
    std::unique_ptr<sqlite::Database> database_;  // null while the file does not open
    std::deque<WaitingLesson> waiting_;           // in the order of learning
    std::map<Served, Uafp> ahead_;                // profiles after the waiting lessons
    std::map<Served, Patience> kept_;             // since open()
    std::optional<std::string> notice_;
};

}  // namespace happe
