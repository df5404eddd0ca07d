// SPDX-License-Identifier: GPL-2.0-or-later
// The device database: profiles/sql/.
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

// For one thread. A damaged file is set aside as PATH.corrupt-YYYYMMDDThhmmssZ, with its -wal and -shm, by whichever
// call meets the damage; the call then goes on with a fresh database, which gets the rows that can still be read and
// what waits, and take_notice() tells of it.
class SqliteProfileStore final : public ProfileStore {
public:
    static constexpr std::size_t kMostWaiting = 100'000;
    static constexpr int kBusyMs = 250;  // how long a call waits for another program's lock; the loop waits with it

    // Creates the file (mode 0600, in a directory that exists) or migrates it. Refuses, and leaves as it is, a database
    // of another program or of a newer HAPPE. Damage is found where it is read, now or later: to read all of a file
    // takes too long.
    static Result<std::unique_ptr<SqliteProfileStore>> open(const std::filesystem::path& path, WallClock wall_clock);

    SqliteProfileStore(const SqliteProfileStore&) = delete;
    SqliteProfileStore& operator=(const SqliteProfileStore&) = delete;
    ~SqliteProfileStore() override;

    // All of these first try to store what waits. find, of_user and events_of answer as if it were stored.
    [[nodiscard]] Result<std::optional<Uafp>> find(const Served& whom) override;
    [[nodiscard]] Result<std::vector<StoredProfile>> of_user(const std::string& user) override;

    // Not stored before the profile's next lesson or store_patience(), and never of a profile that is not stored.
    [[nodiscard]] Patience patience(const Served& whom) override;
    void keep(const Served& whom, const Patience& patience) override { kept_.insert_or_assign(whom, patience); }
    [[nodiscard]] Status store_patience();

    // The event and the profile's new value are stored together or not at all. A lesson that the database could never
    // take (a name of 256 bytes), and one that would be the 100,001st to wait, is not kept; the error says so.
    [[nodiscard]] Status learned(const Served& whom, const Uafp& before, const Lesson& lesson,
                                 const Uafp& after) override;

    // A profile's events in the order of learning: the oldest `most` of those after number `after`.
    [[nodiscard]] Result<std::vector<LearningEvent>> events_of(const Served& whom, std::int64_t after = 0,
                                                               std::size_t most = kMostEvents + kMostWaiting);

    // Undoes up to `most` of a user's newest lessons that are not undone, of the named profile unless `profile` is
    // empty, all or none of those that can be. Each profile is then what it was before the oldest of its lessons.
    [[nodiscard]] Result<Undone> undo(const std::string& user, const std::string& profile, std::size_t most);

    // Removes a profile, its events, and what waits for it, from the files too; nothing to remove is no error.
    [[nodiscard]] Status erase(const Served& whom);

    // Stores these profiles as they are, all or none, at most kMostProfiles of a user; what was learned before of the
    // same users and applications is erased.
    [[nodiscard]] Status replace(const std::vector<StoredProfile>& profiles);

    // Stores what waits. Before the process ends: the destructor doesn't.
    [[nodiscard]] Status flush();
    [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }

    // What happened to the file since the last call that its owner should know: set aside, or gone while in use.
    [[nodiscard]] std::optional<std::string> take_notice();

private:
    SqliteProfileStore(std::filesystem::path path, WallClock wall_clock);

    Status attempt(const std::function<void(sqlite::Database&)>& work);
    sqlite::Database& connected();
    void connect();
    void begin_anew(const std::string& damage);
    void salvage(const std::string& damage, const sqlite::DirectoryLock& lock);
    std::filesystem::path put_in_place(const sqlite::DirectoryLock& lock);
    [[nodiscard]] std::filesystem::path salvaged_path() const { return path_.string() + ".salvaged"; }
    void notice(const std::string& text);
    void forget_waiting(const Served& whom);
    [[nodiscard]] Error in_words(const std::exception& error) const;

    std::filesystem::path path_;
    WallClock wall_clock_;
    std::unique_ptr<sqlite::Database> database_;  // null while it cannot be opened
    std::deque<WaitingLesson> waiting_;           // in the order of learning
    std::map<Served, Uafp> ahead_;                // profiles as they will be
    std::map<Served, Patience> kept_;             // since open()
    std::optional<std::string> notice_;
};

}  // namespace happe
