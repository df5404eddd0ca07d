// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "governor/core/profile_store.h"

#include <map>
#include <utility>

namespace happe {

// Profiles that end with the process. Simulations, replays, tests, and a study's raised runs use it as their store.
struct MemoryProfiles : ProfileStore {
    std::map<Served, Uafp> profiles;
    std::map<Served, Patience> waits;
    std::vector<std::pair<Served, Lesson>> lessons;  // in the order of learning
    std::optional<Error> broken;                     // if set, learned() returns it
    std::optional<Error> unreadable;                 // if set, find() and of_user() return it

    MemoryProfiles() = default;
    explicit MemoryProfiles(const std::vector<StoredProfile>& given) {
        for (const StoredProfile& profile : given) {
            profiles.insert_or_assign(profile.whom, profile.uafp);
        }
    }

    Result<std::optional<Uafp>> find(const Served& whom) override {
        if (unreadable) {
            return tl::unexpected<Error>(*unreadable);
        }
        const auto found = profiles.find(whom);
        return found == profiles.end() ? std::optional<Uafp>() : found->second;
    }

    Result<std::vector<StoredProfile>> of_user(const std::string& user) override {
        if (unreadable) {
            return tl::unexpected<Error>(*unreadable);
        }
        std::vector<StoredProfile> all;
        for (const auto& [whom, uafp] : profiles) {
            if (whom.user == user) {
                all.push_back({whom, uafp});
            }
        }
        return all;
    }

    Patience patience(const Served& whom) override {
        const auto found = waits.find(whom);
        return found == waits.end() ? ProfileStore::patience(whom) : found->second;
    }

    void keep(const Served& whom, const Patience& patience) override { waits.insert_or_assign(whom, patience); }

    Status learned(const Served& whom, const Uafp& /*before*/, const Lesson& lesson, const Uafp& after) override {
        if (broken) {
            return tl::unexpected<Error>(*broken);
        }
        profiles.insert_or_assign(whom, after);
        lessons.emplace_back(whom, lesson);
        return {};
    }
};

}  // namespace happe
