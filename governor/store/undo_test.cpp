// SPDX-License-Identifier: GPL-2.0-or-later
// Undoing lessons one by one restores each earlier profile exactly.
#include "governor/core/fakes.h"
#include "governor/core/loop.h"
#include "governor/store/sqlite_store_fixture.h"
#include "tests/disk.h"

#include <array>
#include <cstdlib>
#include <map>
#include <random>
#include <ranges>

namespace happe {
namespace {

class UndoTest : public SqliteStoreFixture {};

std::vector<std::int64_t> undo(SqliteProfileStore& store, std::size_t most, const std::string& app = "") {
    std::vector<std::int64_t> numbers;
    const Undone undone = store.undo("alice", app, most).value();
    for (const UndoneLesson& lesson : undone.lessons) {
        numbers.push_back(lesson.event.seq);
    }
    return numbers;
}

using Numbers = std::vector<std::int64_t>;

TEST_F(UndoTest, TheProfileIsWhatItWasAndTheHistoryKeepsBoth) {
    const auto store = open();
    ASSERT_TRUE(teach(*store, kAlice, 9, 2'200'000));
    const Uafp before = profile(*store, kAlice);
    ASSERT_TRUE(teach(*store, kAlice, 3, 2'300'000));  // raises the higher levels too

    const auto undone = store->undo("alice", "", 1).value();

    EXPECT_EQ(profile(*store, kAlice), before);
    EXPECT_EQ(undone.lessons.at(0).whom, kAlice);
    EXPECT_EQ(undone.end, "");
    const auto events = store->events_of(kAlice).value();
    ASSERT_EQ(events.size(), 3U);
    EXPECT_EQ(events[1].lesson, undone.lessons[0].event.lesson);
    EXPECT_EQ(events[2].undoes, events[1].seq);
    EXPECT_EQ(events[2].lesson.from, events[1].lesson.to);
    EXPECT_EQ(events[2].lesson.to, events[1].lesson.from);
}

TEST_F(UndoTest, EachGoesFurtherBackAndNoLessonIsUndoneTwice) {
    const auto store = open();
    const Served other{.user = "alice", .app = "desktop"};
    ASSERT_TRUE(teach(*store, kAlice, 9, 1'200'000));
    ASSERT_TRUE(teach(*store, other, 9, 1'200'000));
    ASSERT_TRUE(teach(*store, kAlice, 9, 1'600'000));
    ASSERT_TRUE(teach(*store, kBob, 9, 1'600'000));

    EXPECT_EQ(undo(*store, 1), Numbers{3});
    EXPECT_EQ(undo(*store, 1), Numbers{2});
    ASSERT_TRUE(teach(*store, kAlice, 9, 2'200'000));  // 7
    EXPECT_EQ(undo(*store, 1, "desktop"), Numbers{});
    EXPECT_EQ(undo(*store, 1, "torcs/mains"), Numbers{});
    EXPECT_EQ(undo(*store, 5, "torcs"), (Numbers{7, 1}));
    EXPECT_EQ(store->undo("alice", "", 1)->end, "no lesson is left to undo");
    EXPECT_EQ(profile(*store, kAlice), Uafp(kLowest));
    EXPECT_EQ(profile(*store, kBob).at(Level{9}), Khz{1'600'000});
    EXPECT_TRUE(says(raw_error("INSERT INTO learning_event (who, t_us, key, undoes, policy, level, from_khz, to_khz,"
                               " cur_khz, util_ppm) VALUES (1, 0, 'undo', 3, 0, 0, 1, 1, 1, 0)"),
                     "UNIQUE"));
}

TEST_F(UndoTest, OfWhatIsNoLongerKeptOrWasNotKeptTheAnswerSaysSo) {
    const auto store = open();
    ASSERT_TRUE(teach(*store, kAlice, 9, 1'200'000));
    ASSERT_TRUE(teach(*store, kAlice, 9, 1'600'000));
    ASSERT_TRUE(teach(*store, kAlice, 9, 2'200'000));
    static_cast<void>(raw("DROP TRIGGER learning_event_is_not_changed"));
    static_cast<void>(raw("UPDATE learning_event SET before_0 = NULL WHERE seq = 1"));
    EXPECT_EQ(undo(*store, 9), (Numbers{3, 2}));
    EXPECT_EQ(store->undo("alice", "", 1)->end, "lesson 1 cannot be undone: its record has no values from before it");

    ASSERT_TRUE(teach(*store, kAlice, 9, 1'600'000));
    static_cast<void>(raw("UPDATE uafp SET khz_9 = 2300000"));
    EXPECT_EQ(store->undo("alice", "", 1)->end,
              "lesson 6 cannot be undone: the record of what followed it is incomplete");
    ASSERT_TRUE(store->replace({{kAlice, Uafp(kLowest)}}));
    EXPECT_EQ(undo(*store, 1), Numbers{});
}

TEST_F(UndoTest, NothingIsUndoneWhileLessonsWait) {
    const auto store = open();
    ASSERT_TRUE(teach(*store, kAlice, 9, 1'200'000));
    sqlite3* const connection = newest_connection;
    sqlite3_exec(connection, "PRAGMA query_only = ON", nullptr, nullptr, nullptr);

    EXPECT_TRUE(says(store->undo("alice", "", 1).error().message, "it is read-only"));
    ASSERT_FALSE(teach(*store, kAlice, 9, 1'600'000));
    EXPECT_TRUE(says(store->undo("alice", "", 1).error().message, "1 lessons wait in memory"));
    EXPECT_EQ(profile(*store, kAlice).at(Level{9}), Khz{1'600'000});

    sqlite3_exec(connection, "PRAGMA query_only = OFF", nullptr, nullptr, nullptr);
    EXPECT_EQ(undo(*store, 9), (Numbers{2, 1}));
}

using Profiles = std::map<Served, Uafp>;

struct Recorder : fake::Watcher {
    bool taught = false;
    void turned(const Turn& turn) override { taught = turn.decision.lesson.has_value(); }
};

// Runs the real loop on an invented machine with random lessons and some undone; then undoes all of them, one by one.
class History {
public:
    History(SqliteProfileStore& store, unsigned seed)
        : store_(store), random_(seed), user_("user " + std::to_string(seed)) {
        frequency_.list = {{.id = {0}, .cpus = {0, 1}, .ladder = t61_ladder()},
                           {.id = {2}, .cpus = {2}, .ladder = Ladder::from(kFast).value()}};
        settings_.algorithm.warm_start = below(2) == 0;
        settings_.algorithm.descent = below(2) == 0;
        settings_.domains = below(2) == 0 ? Domains{{{0}, {2}}} : Domains{{{0}}, {{2}}};
    }

    void run() {
        begin();
        for (std::size_t left = 4 + below(12); left > 0; --left) {
            if (below(5) == 0) {
                undo_last();
            } else {
                turn();
            }
        }
        while (!lessons_.empty() && !testing::Test::HasFailure()) {
            undo_last();
        }
        undo_last();
    }

private:
    struct Taught {
        Served whom;
        Uafp before;
        Patience patience;
    };
    static constexpr std::array kFast{Khz{800'000}, Khz{2'000'000}, Khz{3'100'000}};

    // Starts a new loop after an undo, as happed does, because the old loop still has the profile from before.
    void begin() { loop_.emplace(Ports{utilisation_, frequency_, keys_, focus_, store_, recorder_}, settings_, now_); }

    void turn() {
        const Served whom{
            .user = user_, .app = std::string(1 + below(3), 'a'), .source = static_cast<PowerSource>(below(3))};
        const Uafp before = known_or_new(whom);
        const Patience patience = store_.patience(whom);
        focus_.whom = whom;
        utilisation_.cpus = {load(), load(), load()};
        now_ += std::chrono::seconds{2};
        keys_.waiting = {{below(2) == 0 ? Key::Power : Key::Performance, now_ - Micros{1}}};
        loop_->turn(now_);
        EXPECT_TRUE(recorder_.taught);
        lessons_.push_back({whom, before, patience});
    }

    void undo_last() {
        Profiles expected = all();
        const auto undone = store_.undo(user_, "", 1).value().lessons;
        ASSERT_EQ(undone.size(), lessons_.empty() ? 0U : 1U);
        if (!lessons_.empty()) {
            EXPECT_EQ(undone[0].whom, lessons_.back().whom);
            expected.insert_or_assign(lessons_.back().whom, lessons_.back().before);
            EXPECT_EQ(store_.patience(lessons_.back().whom), lessons_.back().patience);
            lessons_.pop_back();
        }
        EXPECT_EQ(all(), expected);
        begin();
    }

    Profiles all() {
        Profiles profiles;
        const auto stored_profiles = store_.of_user(user_).value();
        for (const StoredProfile& stored : stored_profiles) {
            profiles.insert_or_assign(stored.whom, stored.uafp);
        }
        return profiles;
    }

    Uafp known_or_new(const Served& whom) {
        const Profiles known = all();
        for (const Served& one : {whom, begins_as(whom)}) {
            if (known.contains(one)) {
                return known.at(one);
            }
        }
        std::vector<Uafp> others;
        std::ranges::copy(known | std::views::values, std::back_inserter(others));
        return settings_.algorithm.warm_start && !others.empty() ? lower_median(others) : Uafp(kLowest);
    }

    std::size_t below(std::size_t count) { return std::uniform_int_distribution<std::size_t>(0, count - 1)(random_); }
    Ppm load() { return {static_cast<std::uint32_t>(below(kOne.value + 1U))}; }

    SqliteProfileStore& store_;
    std::mt19937 random_;
    std::string user_;
    LoopSettings settings_;
    fake::Utilisation utilisation_;
    fake::Frequency frequency_;
    fake::Keys keys_;
    fake::Focus focus_;
    Recorder recorder_;
    MonoTime now_;
    std::optional<Loop> loop_;
    std::vector<Taught> lessons_;  // the standing lessons
};

// tools/validate.sh runs 10,000 histories.
TEST_F(UndoTest, EveryEarlierProfileOfARandomHistoryComesBack) {
    const char* const wanted = std::getenv("HAPPE_HISTORIES");
    const auto store = open();
    sqlite3_exec(newest_connection, "PRAGMA synchronous = OFF", nullptr, nullptr, nullptr);  // no loss of power here

    for (unsigned seed = 1; seed <= (wanted != nullptr ? std::stoul(wanted) : 200) && !HasFailure(); ++seed) {
        SCOPED_TRACE(seed);
        History(*store, seed).run();
    }
}

TEST_F(UndoTest, OnAFullDiskUndoesAllOrNothing) {
    const auto store = open();
    for (std::uint32_t n = 0; n < 3; ++n) {
        ASSERT_TRUE(teach_nth(*store, kAlice, n));
    }
    const Uafp taught = profile(*store, kAlice);
    const auto is_undone = [&] { return store->events_of(kAlice).value().size() == 5; };
    const auto undo = [&] { static_cast<void>(is_undone() || store->undo("alice", "", 2)); };
    EXPECT_GT(on_full_disks(directory, undo, [&] { EXPECT_EQ(profile(*store, kAlice) == taught, !is_undone()); }), 3);
    EXPECT_TRUE(is_undone());
}

}  // namespace
}  // namespace happe
