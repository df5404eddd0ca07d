// SPDX-License-Identifier: GPL-2.0-or-later
// The device database: opening it, and learning beside what SQLite needs for the barest insert on the same disk.
#include "governor/store/sqlite_profile_store.h"
#include "governor/system/temporary_directory_fixture.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <benchmark/benchmark.h>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace happe {
namespace {

namespace fs = std::filesystem;

constexpr int kUsers = 100;
constexpr int kApps = 100;

std::unique_ptr<SqliteProfileStore> open(const fs::path& path) {
    return SqliteProfileStore::open(path, [] { return WallTime(); }).value();
}

void fill(const fs::path& path) {
    static_cast<void>(open(path));
    SQLite::Database database(path.string(), SQLite::OPEN_READWRITE);
    SQLite::Transaction transaction(database);
    SQLite::Statement insert(database, "INSERT INTO uafp VALUES (NULL, ?1, ?2, 8, 8, 8, 8, 8, 12, 12, 16, 22, 23, 0)");
    for (int user = 0; user < kUsers; ++user) {
        for (int app = 0; app < kApps; ++app) {
            insert.bind(1, "user" + std::to_string(user));
            insert.bind(2, "app-org.example.application" + std::to_string(app));
            insert.exec();
            insert.reset();
        }
    }
    transaction.commit();
}

void OpenAndFindOneOf10000(benchmark::State& state) {
    const TemporaryDirectory directory;
    const fs::path path = directory.path() / "profiles.db";
    fill(path);
    const Served whom{.user = "user50", .app = "app-org.example.application50"};
    for (auto _ : state) {
        auto store = open(path);
        const auto found = store->find(whom);
        if (!found || !*found) {
            state.SkipWithError("not found");
            return;
        }
        state.PauseTiming();  // closing is not part of it
        store.reset();
        state.ResumeTiming();
    }
}
BENCHMARK(OpenAndFindOneOf10000)->Unit(benchmark::kMicrosecond)->MinTime(1);

// One table, one row a transaction, the same pragmas: nothing can be synced to this disk with less.
class BareTable {
public:
    explicit BareTable(const fs::path& path) : database_(path.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE) {
        database_.exec(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;"
            "CREATE TABLE event (seq INTEGER PRIMARY KEY, t_us INTEGER, khz INTEGER) STRICT");
        insert_.emplace(database_, "INSERT INTO event (t_us, khz) VALUES (?1, ?2)");
    }
    void insert(std::int64_t n) {
        SQLite::Transaction transaction(database_, SQLite::TransactionBehavior::IMMEDIATE);
        insert_->bind(1, n);
        insert_->bind(2, 2'200'000);
        insert_->exec();
        insert_->reset();
        transaction.commit();
    }

private:
    SQLite::Database database_;
    std::optional<SQLite::Statement> insert_;
};

template <typename Work>
double seconds(Work work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Alternately, so that both meet the same disk; the ratio is what counts. The reported time is that of learned().
void LearnedBesideABareInsert(benchmark::State& state) {
    const TemporaryDirectory directory;
    const auto store = open(directory.path() / "profiles.db");
    BareTable bare(directory.path() / "bare.db");
    Uafp uafp(Khz{800'000});
    const Lesson lesson{.key = Key::Performance,
                        .policy = {},
                        .level = {3},
                        .from = {800'000},
                        .to = {1'200'000},
                        .current = {800'000},
                        .utilisation = {970'000}};
    uafp.learn(lesson.level, lesson.to);
    const Served whom{.user = "alice", .app = "torcs"};
    double learned_s = 0;
    double bare_s = 0;
    std::int64_t n = 0;
    for (auto _ : state) {
        bare_s += seconds([&] { bare.insert(++n); });
        Status learned;
        const double took = seconds([&] { learned = store->learned(whom, lesson, uafp); });
        if (!learned) {
            state.SkipWithError(learned.error().message.c_str());
            return;
        }
        learned_s += took;
        state.SetIterationTime(took);
    }
    state.counters["learned_per_s"] = static_cast<double>(n) / learned_s;
    state.counters["bare_per_s"] = static_cast<double>(n) / bare_s;
    state.counters["learned_to_bare"] = bare_s / learned_s;
}
BENCHMARK(LearnedBesideABareInsert)->UseManualTime()->Unit(benchmark::kMicrosecond)->MinTime(3);

}  // namespace
}  // namespace happe
