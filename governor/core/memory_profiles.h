// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "governor/core/profile_store.h"

#include <map>
#include <utility>

namespace happe {

// Profiles that end with the process: the store of simulations and replays, and the fake of tests.
struct MemoryProfiles : ProfileStore {
    std::map<Served, Uafp> profiles;
    std::vector<std::pair<Served, Lesson>> lessons;  // in the order they were learned
    std::optional<Error> broken;                     // what learned() answers while it is set
    std::optional<Error> unreadable;                 // and what find() and of_user() answer

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

    Status learned(const Served& whom, const Lesson& lesson, const Uafp& after) override {
        if (broken) {
            return tl::unexpected<Error>(*broken);
        }
        profiles.insert_or_assign(whom, after);
        lessons.emplace_back(whom, lesson);
        return {};
    }
};

}  // namespace happe
