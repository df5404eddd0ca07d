// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "governor/core/governor.h"
#include "governor/core/profile_book.h"
#include "governor/core/result.h"

#include <optional>
#include <vector>

namespace happe {

struct StoredProfile {
    Served whom;
    Uafp uafp;
};

// Stores profiles beyond the life of the process.
class ProfileStore {
public:
    // A user's profile of an application. Empty if there is none.
    [[nodiscard]] virtual Result<std::optional<Uafp>> find(const Served& whom) = 0;

    // All profiles of a user, by application.
    [[nodiscard]] virtual Result<std::vector<StoredProfile>> of_user(const std::string& user) = 0;

    // The memory of the setting `descent` for a profile; without a stored one, that of a new profile.
    [[nodiscard]] virtual Patience patience(const Served& /*whom*/) { return {}; }

    // Sets that memory. The store writes it with the profile's next lesson, or earlier.
    virtual void keep(const Served& whom, const Patience& patience) = 0;

    // Stores a lesson and the profile before and after it. On an error the lesson is not stored yet: the store keeps it
    // in memory and tries again at each later call, so nothing is lost while the process lives.
    [[nodiscard]] virtual Status learned(const Served& whom, const Uafp& before, const Lesson& lesson,
                                         const Uafp& after) = 0;

    virtual ~ProfileStore() = default;
};

}  // namespace happe
