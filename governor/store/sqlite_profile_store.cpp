// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/store/sqlite_profile_store.h"

#include "governor/store/sqlite_database.h"
#include "governor/store/sqlite_file.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

namespace happe {
namespace {

constexpr std::size_t kMostAtOnce = 1000;  // lessons in one transaction: a nearly full disk takes what it can
constexpr std::size_t kLongestName = 255;  // bytes

int primary_code(const SQLite::Exception& error) {
    return error.getErrorCode() & 0xFF;
}

// The file's damage, if the error means damage.
std::optional<std::string> damage(const std::exception& error) {
    const auto* const sqlite_error = dynamic_cast<const SQLite::Exception*>(&error);
    const int code = sqlite_error != nullptr ? primary_code(*sqlite_error) : SQLITE_OK;
    if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB || dynamic_cast<const sqlite::Damaged*>(&error) != nullptr) {
        return error.what();
    }
    return std::nullopt;
}

const char* advice(int code) {
    switch (code) {
        case SQLITE_FULL:
            return "no space is left: free some on its file system";
        case SQLITE_READONLY:
            return "it is read-only: make the file, its directory and their file system writable";
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
        case SQLITE_PROTOCOL:
            return "another program has it locked: close that one";
        case SQLITE_CANTOPEN:
            return "it cannot be opened";
        case SQLITE_IOERR:
            return "reading or writing failed";
        case SQLITE_ERROR:
        case SQLITE_CONSTRAINT:
            return "its tables are not HAPPE's: move the file away to start without profiles";
        default:
            return "it cannot be used";
    }
}

bool is_name(const std::string& text) {
    return !text.empty() && text.size() <= kLongestName;
}

bool is_khz(Khz khz) {
    return khz > Khz{0} && khz <= kHighestKhz;
}

// Why the tables' constraints would always refuse this lesson; empty if they would not.
std::optional<std::string> objection(const Served& whom, const Uafp& before, const Lesson& lesson, const Uafp& after) {
    if (!is_name(whom.user) || !is_name(whom.app)) {
        return fmt::format("names must have 1 to {} bytes", kLongestName);
    }
    if (!Uafp::from(before.values()) || !Uafp::from(after.values())) {
        return fmt::format("a UAFP must have 1 to {} kHz at each level", kHighestKhz.value);
    }
    if (!is_khz(lesson.from) || !is_khz(lesson.to) || !is_khz(lesson.current)) {
        return fmt::format("a lesson's frequencies must be 1 to {} kHz", kHighestKhz.value);
    }
    if (lesson.level.value >= Uafp::kLevels || lesson.policy > kHighestPolicyId || lesson.utilisation > kOne) {
        return "a lesson's level, policy or utilisation is out of range";
    }
    return std::nullopt;
}

std::time_t to_time_t(std::filesystem::file_time_type time) {
    return std::chrono::system_clock::to_time_t(
        std::chrono::time_point_cast<std::chrono::system_clock::duration>(std::chrono::file_clock::to_sys(time)));
}

std::string stamp(WallTime now) {
    return fmt::format("{:%Y%m%dT%H%M%SZ}",
                       fmt::gmtime(std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count()));
}

}  // namespace

Result<std::unique_ptr<SqliteProfileStore>> SqliteProfileStore::open(const std::filesystem::path& path,
                                                                     WallClock wall_clock) {
    std::error_code none;
    const std::filesystem::path real = std::filesystem::weakly_canonical(std::filesystem::absolute(path, none), none);
    auto store = std::unique_ptr<SqliteProfileStore>(new SqliteProfileStore(none ? path : real, std::move(wall_clock)));
    if (const Status opened = store->attempt([](sqlite::Database&) {}); !opened) {
        const auto noticed = store->take_notice();
        return failure(noticed ? *noticed + "; then: " + opened.error().message : opened.error().message);
    }
    return store;
}

SqliteProfileStore::SqliteProfileStore(std::filesystem::path path, WallClock wall_clock)
    : path_(std::move(path)), wall_clock_(std::move(wall_clock)) {}

SqliteProfileStore::~SqliteProfileStore() = default;

Result<std::optional<Uafp>> SqliteProfileStore::find(const Served& whom) {
    static_cast<void>(flush());  // nobody could read an error
    if (const auto known = ahead_.find(whom); known != ahead_.end()) {
        return known->second;
    }
    std::optional<Uafp> found;
    const Status read = attempt([&](sqlite::Database& database) { found = database.find(whom); });
    return read.map([&] { return found; });
}

Result<std::vector<StoredProfile>> SqliteProfileStore::of_user(const std::string& user) {
    static_cast<void>(flush());
    std::map<Served, Uafp> all;
    const Status read = attempt([&](sqlite::Database& database) {
        all.clear();
        for (const auto& [whom, uafp] : database.of_user(user)) {
            all.insert_or_assign(whom, uafp);
        }
    });
    if (!read) {
        return tl::unexpected<Error>(read.error());
    }
    for (const auto& [whom, uafp] : ahead_) {
        if (whom.user == user) {
            all.insert_or_assign(whom, uafp);
        }
    }
    std::vector<StoredProfile> profiles;
    profiles.reserve(all.size());
    for (const auto& [whom, uafp] : all) {
        profiles.push_back({whom, uafp});
    }
    return profiles;
}

Patience SqliteProfileStore::patience(const Served& whom) {
    if (const auto kept = kept_.find(whom); kept != kept_.end()) {
        return kept->second;
    }
    Patience stored;
    static_cast<void>(attempt([&](sqlite::Database& database) { stored = database.patience(whom); }));
    return stored;
}

Status SqliteProfileStore::store_patience() {
    return kept_.empty() ? Status() : attempt([this](sqlite::Database& database) { database.keep(kept_); });
}

Status SqliteProfileStore::learned(const Served& whom, const Uafp& before, const Lesson& lesson, const Uafp& after) {
    if (const auto refused = objection(whom, before, lesson, after)) {
        return failure(fmt::format("{}: a lesson was not stored: {}", path_.string(), *refused));
    }
    if (waiting_.size() >= kMostWaiting) {
        if (const Status stored = flush(); !stored) {
            return failure(
                fmt::format("{}; memory holds no more lessons, so this one is lost", stored.error().message));
        }
    }
    const WallTime now = std::max(wall_clock_(), WallTime());  // a time before 1970 means that nobody has set the clock
    const auto kept = kept_.find(whom);
    waiting_.push_back({whom,
                        {.seq = 0, .at = now, .lesson = lesson},
                        before,
                        after,
                        kept == kept_.end() ? std::nullopt : std::optional(kept->second)});
    ahead_.insert_or_assign(whom, after);
    return flush();
}

Result<std::vector<LearningEvent>> SqliteProfileStore::events_of(const Served& whom, std::int64_t after,
                                                                 std::size_t most) {
    static_cast<void>(flush());
    std::vector<LearningEvent> events;
    const Status read = attempt([&](sqlite::Database& database) { events = database.events_of(whom, after, most); });
    if (!read) {
        return tl::unexpected<Error>(read.error());
    }
    for (const WaitingLesson& waiting : waiting_) {
        if (waiting.whom == whom && events.size() < most) {
            events.push_back(waiting.event);
        }
    }
    return events;
}

Result<Undone> SqliteProfileStore::undo(const std::string& user, const std::string& profile, std::size_t most) {
    if (const Status stored = flush(); !stored) {
        return tl::unexpected<Error>(stored.error());  // lessons that wait are newer than all stored ones
    }
    Undone undone;
    const Status done = attempt([&](sqlite::Database& database) {
        undone = database.undo(user, profile, most, std::max(wall_clock_(), WallTime()));
    });
    return done.map([&] {
        std::ranges::for_each(undone.lessons, [this](const UndoneLesson& lesson) { kept_.erase(lesson.whom); });
        return std::move(undone);
    });
}

Status SqliteProfileStore::erase(const Served& whom) {
    static_cast<void>(flush());
    return attempt([&](sqlite::Database& database) {
        database.erase(whom);
        forget_waiting(whom);
        forget_in_copy(database);
    });
}

// Leaves no copy rather than one with the erased profile. Damage is another matter: the copy then becomes the database,
// and attempt() erases again.
void SqliteProfileStore::forget_in_copy(sqlite::Database& database) {
    if (!std::filesystem::exists(copy_path())) {
        return;
    }
    try {
        renew_copy(database);
    } catch (const std::exception& error) {
        if (!damage(error)) {
            std::filesystem::remove(copy_path());
        }
        throw;
    }
}

Status SqliteProfileStore::copy_if_due() {
    constexpr auto kEach = std::chrono::hours{24};
    const auto changed = [](const std::filesystem::path& file) {
        std::error_code none;
        const auto time = std::filesystem::last_write_time(file, none);
        return none ? std::filesystem::file_time_type::min() : time;
    };
    const auto copied = changed(copy_path());
    const bool exists = copied != std::filesystem::file_time_type::min();
    const bool has_changed = std::max(changed(path_), changed(path_.string() + "-wal")) > copied;
    if (exists && (!has_changed || std::filesystem::file_time_type::clock::now() - copied < kEach)) {
        return {};
    }
    return attempt([this](sqlite::Database& database) { renew_copy(database); });
}

void SqliteProfileStore::renew_copy(sqlite::Database& database) {
    const sqlite::DirectoryLock lock(path_.parent_path());
    const std::filesystem::path fresh = copy_path().string() + ".new";
    sqlite::remove_files(fresh);
    try {
        sqlite::create_private(fresh);
        database.copy_to(fresh);
        sqlite::finish_copy(fresh, path_);
        std::filesystem::rename(fresh, copy_path());
    } catch (const std::exception&) {
        sqlite::remove_files(fresh);  // a disk that is full needs the room
        throw;
    }
    lock.sync();
}

Status SqliteProfileStore::replace(const std::vector<StoredProfile>& profiles) {
    for (const auto& [whom, uafp] : profiles) {
        if (!is_name(whom.user) || !is_name(whom.app)) {
            return failure(fmt::format("names must have 1 to {} bytes", kLongestName));
        }
    }
    static_cast<void>(flush());
    return attempt([&](sqlite::Database& database) {
        database.replace(profiles, std::max(wall_clock_(), WallTime()));
        for (const auto& [whom, uafp] : profiles) {
            forget_waiting(whom);
        }
    });
}

void SqliteProfileStore::forget_waiting(const Served& whom) {
    std::erase_if(waiting_, [&](const WaitingLesson& waiting) { return waiting.whom == whom; });
    ahead_.erase(whom);
    kept_.erase(whom);
}

Status SqliteProfileStore::flush() {
    if (waiting_.empty()) {
        return {};
    }
    const Status stored = attempt([this](sqlite::Database& database) {
        while (!waiting_.empty()) {
            const std::size_t count = std::min(waiting_.size(), kMostAtOnce);
            database.store(waiting_, count);
            waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(count));
        }
        ahead_.clear();
    });
    if (!stored) {
        return failure(fmt::format("{}; {} lessons wait in memory", stored.error().message, waiting_.size()));
    }
    return {};
}

std::optional<std::string> SqliteProfileStore::take_notice() {
    return std::exchange(notice_, std::nullopt);
}

// Does the work on the existing database if it is sound, otherwise on a fresh one.
Status SqliteProfileStore::attempt(const std::function<void(sqlite::Database&)>& work) try {
    try {
        work(connected());
        return {};
    } catch (const std::exception& error) {
        const auto damaged = damage(error);
        if (!damaged || !database_) {
            throw;
        }
        begin_anew(*damaged);
    }
    work(connected());
    return {};
} catch (const std::exception& error) {
    return tl::unexpected<Error>(in_words(error));
}

sqlite::Database& SqliteProfileStore::connected() {
    if (database_ && database_->moved()) {
        database_.reset();
        notice(
            fmt::format("{} was moved or deleted while in use; HAPPE starts there without profiles", path_.string()));
    }
    if (!database_) {
        connect();
    }
    return *database_;
}

void SqliteProfileStore::connect() {
    const sqlite::DirectoryLock lock(path_.parent_path());
    if (!std::filesystem::exists(path_) && std::filesystem::exists(new_path())) {
        put_in_place(lock);  // an earlier process may have ended before it could
    } else if (sqlite::has_orphaned_wal(path_)) {
        take_copy("it is missing or empty beside its write-ahead log", lock);
    }
    sqlite::create_private(path_);
    try {
        database_ = std::make_unique<sqlite::Database>(path_, kBusyMs);
    } catch (const std::exception& error) {
        const auto damaged = damage(error);
        if (!damaged) {
            throw;
        }
        take_copy(*damaged, lock);
        database_ = std::make_unique<sqlite::Database>(path_, kBusyMs);
    }
}

// Another process may have set the same file aside already: the file is now a fresh one.
void SqliteProfileStore::begin_anew(const std::string& damage_found) {
    const sqlite::DirectoryLock lock(path_.parent_path());
    const bool moved = database_->moved();
    database_->leave_files();
    database_.reset();
    if (!moved) {
        take_copy(damage_found, lock);
    }
}

void SqliteProfileStore::take_copy(const std::string& damage_found, const sqlite::DirectoryLock& lock) {
    const std::string taken = prepare_copy();
    const std::filesystem::path target = put_in_place(lock);
    notice(fmt::format("{} is damaged ({}) and was set aside as {}; {}", path_.string(), damage_found, target.string(),
                       taken));
}

// Returns the new path of the damaged file.
std::filesystem::path SqliteProfileStore::put_in_place(const sqlite::DirectoryLock& lock) {
    std::filesystem::path target = sqlite::set_aside(path_, stamp(wall_clock_()), lock);
    std::filesystem::rename(new_path(), path_);
    lock.sync();
    return target;
}

// Writes what the database will be beside it: the content of the copy, which stays, or nothing. Returns what it is, in
// words.
std::string SqliteProfileStore::prepare_copy() {
    sqlite::remove_files(new_path());
    std::string why = "there was no copy";
    if (std::filesystem::exists(copy_path())) {
        try {
            std::filesystem::copy_file(copy_path(), new_path());
            sqlite::Database(new_path(), kBusyMs).check_pages();
            sqlite::finish_copy(new_path(), copy_path());
            return fmt::format("HAPPE goes on with the copy of {:%Y-%m-%d %H:%M} UTC",
                               fmt::gmtime(to_time_t(std::filesystem::last_write_time(copy_path()))));
        } catch (const std::exception& error) {
            sqlite::remove_files(new_path());
            why = fmt::format("the copy cannot be used ({})", error.what());
        }
    }
    sqlite::create_private(new_path());
    return why + ", so HAPPE starts without profiles";
}

void SqliteProfileStore::notice(const std::string& text) {
    notice_ = notice_ ? *notice_ + "; " + text : text;
}

Error SqliteProfileStore::in_words(const std::exception& error) const {
    const auto* const sqlite_error = dynamic_cast<const SQLite::Exception*>(&error);
    if (sqlite_error == nullptr) {
        return {fmt::format("{}: {}", path_.string(), error.what())};
    }
    return {fmt::format("{}: {} ({})", path_.string(), advice(primary_code(*sqlite_error)), error.what())};
}

}  // namespace happe
