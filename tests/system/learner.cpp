// SPDX-License-Identifier: GPL-2.0-or-later
// Learns as fast as it can, up to 1000 lessons a second, until tests/system/test_kill9.py kills it.
//
//     happe-learner DATABASE SEED
//
// After each stored lesson it prints a line in one write: "SEQ USER APP KHZ_0 ... KHZ_9".
#include "governor/store/sqlite_profile_store.h"

#include <fmt/format.h>
#include <unistd.h>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <map>
#include <random>
#include <string_view>
#include <thread>

namespace happe {
namespace {

constexpr std::array kLadder{Khz{800'000}, Khz{1'200'000}, Khz{1'600'000}, Khz{2'200'000}, Khz{2'300'000}};
constexpr std::array kUsers{"alice", "bob", "carol"};
constexpr std::array kApps{"desktop", "torcs", "firefox", "tuxracer"};
constexpr auto kShortestTurn = std::chrono::milliseconds{1};

WallTime wall_clock() {
    return std::chrono::floor<Micros>(std::chrono::system_clock::now());
}

class Learner {
public:
    Learner(SqliteProfileStore& store, unsigned seed) : store_(store), random_(seed) {}

    Status learn() {
        const Served whom{.user = kUsers.at(below(kUsers.size())), .app = kApps.at(below(kApps.size()))};
        const auto found = store_.find(whom);
        if (!found) {
            return tl::unexpected<Error>(found.error());
        }
        const Uafp before = found->value_or(Uafp(kLadder.front()));
        Uafp uafp = before;
        const Lesson lesson = taught(uafp);
        store_.keep(whom, {.wait = Patience::kFirst + Micros(lesson.to.value)});  // the wait of no other frequency
        return store_.learned(whom, before, lesson, uafp).map([&] { acknowledge(whom, uafp); });
    }

private:
    std::size_t below(std::size_t count) { return std::uniform_int_distribution<std::size_t>(0, count - 1)(random_); }

    // A step up or down from a random entry of the ladder, at a random level.
    Lesson taught(Uafp& uafp) {
        const Level level{static_cast<std::uint8_t>(below(Uafp::kLevels))};
        const std::size_t current = below(kLadder.size());
        const bool up = current == 0 || (current + 1 < kLadder.size() && below(2) == 0);
        const Khz before = uafp.at(level);
        const Khz target = kLadder.at(up ? current + 1 : current - 1);
        uafp.learn(level, target);
        return {.key = up ? Key::Performance : Key::Power,
                .policy = {},
                .level = level,
                .from = before,
                .to = target,
                .current = kLadder.at(current),
                .utilisation = {static_cast<std::uint32_t>(below(kOne.value + 1U))}};
    }

    void acknowledge(const Served& whom, const Uafp& uafp) {
        std::int64_t& newest = newest_[whom];
        if (const auto events = store_.events_of(whom, newest, kMostEvents); events && !events->empty()) {
            newest = events->back().seq;
        }
        std::string line = fmt::format("{} {} {}", newest, whom.user, whom.app);
        for (const Khz khz : uafp.values()) {
            line += fmt::format(" {}", khz.value);
        }
        line += '\n';
        if (::write(STDOUT_FILENO, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
            std::perror("happe-learner: standard output");
            ::_exit(1);
        }
    }

    SqliteProfileStore& store_;
    std::map<Served, std::int64_t> newest_;  // the last event's number, of each profile
    std::mt19937 random_;
};

int complain(const std::string& message) {
    fmt::print(stderr, "happe-learner: {}\n", message);
    return 1;
}

int run(const char* path, unsigned seed) {
    const auto store = SqliteProfileStore::open(path, wall_clock);
    if (!store) {
        return complain(store.error().message);
    }
    Learner learner(**store, seed);
    for (auto due = std::chrono::steady_clock::now();; due += kShortestTurn) {
        const Status learned = learner.learn();
        if (const auto notice = (*store)->take_notice()) {
            return complain(*notice);
        }
        if (!learned) {
            return complain(learned.error().message);
        }
        std::this_thread::sleep_until(due);
    }
}

}  // namespace
}  // namespace happe

int main(int argc, char** argv) {
    const std::string_view seed = argc == 3 ? argv[2] : "";
    unsigned number = 0;
    const auto [end, error] = std::from_chars(seed.data(), seed.data() + seed.size(), number);
    if (seed.empty() || error != std::errc() || end != seed.data() + seed.size()) {
        return happe::complain("usage: happe-learner DATABASE SEED");
    }
    return happe::run(argv[1], number);
}
