// SPDX-License-Identifier: GPL-2.0-or-later
// For the tests of the device database: real SQLite on real files in a temporary directory.
#pragma once

#include "governor/store/sqlite_profile_store.h"
#include "governor/system/temporary_directory_fixture.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace happe {

namespace fs = std::filesystem;

inline constexpr Khz kLowest{800'000};
inline constexpr WallTime kNow{Micros{1'735'689'600'000'000}};  // 2025-01-01 00:00:00 UTC
inline const Served kAlice{.user = "alice", .app = "torcs"};
inline const Served kBob{.user = "bob", .app = "desktop"};

inline constexpr auto kOwner = fs::perms::owner_read | fs::perms::owner_write;
inline constexpr auto kOwnerAndReaders = kOwner | fs::perms::group_read | fs::perms::others_read;

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): SQLite calls a function without context
inline sqlite3* newest_connection = nullptr;

// Gives each test its own directory, and access to the connection that the store opened last: SQLite passes every new
// connection to an automatic extension.
class SqliteStoreFixture : public testing::Test {
public:
    SqliteStoreFixture() {
        // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the type that SQLite's interface has
        sqlite3_auto_extension(reinterpret_cast<void (*)()>(&remember_connection));
    }
    ~SqliteStoreFixture() override { sqlite3_reset_auto_extension(); }

protected:
    [[nodiscard]] auto try_open() const {
        return SqliteProfileStore::open(path, [] { return kNow; });
    }
    [[nodiscard]] std::unique_ptr<SqliteProfileStore> open() const {
        auto opened = try_open();
        EXPECT_TRUE(opened.has_value()) << opened.error().message;
        return std::move(opened.value());
    }
    [[nodiscard]] std::string open_error() const {
        const auto opened = try_open();
        return opened ? "no error" : opened.error().message;
    }

    // The first column of the answer. Uses a separate connection.
    [[nodiscard]] std::int64_t raw(const std::string& sql) const {
        SQLite::Database database(path.string(), SQLite::OPEN_READWRITE);
        database.exec("PRAGMA foreign_keys = ON");
        SQLite::Statement statement(database, sql);
        return statement.executeStep() ? statement.getColumn(0).getInt64() : 0;
    }
    [[nodiscard]] std::string raw_error(const std::string& sql) const {
        try {
            static_cast<void>(raw(sql));
        } catch (const SQLite::Exception& error) {
            return error.what();
        }
        return "no error";
    }

    static void overwrite(const fs::path& file, std::int64_t offset, const std::string& bytes) {
        std::fstream stream(file, std::ios::binary | std::ios::in | std::ios::out);
        stream.seekp(offset);
        stream << bytes;
    }
    // The first b-tree page of a table or index.
    void damage_root_of(const std::string& name) const {
        const std::int64_t page = raw("SELECT rootpage FROM sqlite_schema WHERE name = '" + name + "'");
        overwrite(path, (page - 1) * 4096, std::string(64, '\xA5'));
    }
    [[nodiscard]] std::vector<std::string> files() const {
        std::vector<std::string> names;
        for (const auto& entry : fs::directory_iterator(directory)) {
            names.push_back(entry.path().filename());
        }
        std::ranges::sort(names);
        return names;
    }

    TemporaryDirectory temporary;
    fs::path directory = temporary.path();
    fs::path path = directory / "profiles.db";

private:
    static int remember_connection(sqlite3* connection, const char** /*message*/, const void* /*api*/) {
        newest_connection = connection;
        return SQLITE_OK;
    }
};

// Does the work in another process, which returns its result as exit status.
template <typename Work>
pid_t start(Work work) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::_exit(work());
    }
    return child;
}
inline int ended(pid_t child) {
    int status = -1;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;  // -1: killed
}

// Teaches the profile a lesson and returns the lesson, as the loop does.
inline Lesson lesson_in(Uafp& uafp, Level level, Khz khz) {
    const Khz before = uafp.at(level);
    uafp.learn(level, khz);
    return {.key = khz < before ? Key::Power : Key::Performance,
            .policy = {2},
            .level = level,
            .from = before,
            .to = khz,
            .current = before,
            .utilisation = {970'000}};
}

inline Uafp profile(ProfileStore& store, const Served& whom) {
    return store.find(whom).value().value_or(Uafp(kLowest));
}

inline Status teach(ProfileStore& store, const Served& whom, std::uint8_t level, std::uint32_t khz) {
    const Uafp before = profile(store, whom);
    Uafp uafp = before;
    const Lesson lesson = lesson_in(uafp, Level{level}, Khz{khz});
    return store.learned(whom, before, lesson, uafp);
}

// Lesson number N of a long series.
inline Status teach_nth(ProfileStore& store, const Served& whom, std::uint32_t n) {
    return teach(store, whom, static_cast<std::uint8_t>(n % 10), 800'000 + (n * 100));
}

// The frequencies learned, in the order of learning.
inline std::vector<std::uint32_t> learned_khz(SqliteProfileStore& store, const Served& whom) {
    std::vector<std::uint32_t> khz;
    const auto events = store.events_of(whom).value();
    khz.reserve(events.size());
    for (const LearningEvent& event : events) {
        khz.push_back(event.lesson.to.value);
    }
    return khz;
}

inline std::vector<std::uint32_t> nth_khz(std::uint32_t count) {
    std::vector<std::uint32_t> khz;
    khz.reserve(count);
    for (std::uint32_t n = 0; n < count; ++n) {
        khz.push_back(800'000 + (n * 100));
    }
    return khz;
}

inline bool says(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace happe
