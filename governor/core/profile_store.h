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

// Where profiles outlive the process.
class ProfileStore {
public:
    // A user's profile of an application; nothing if there is none.
    [[nodiscard]] virtual Result<std::optional<Uafp>> find(const Served& whom) = 0;

    // All profiles of a user, by application.
    [[nodiscard]] virtual Result<std::vector<StoredProfile>> of_user(const std::string& user) = 0;

    // A press taught this profile this lesson. An error says that it is not stored yet; the store keeps it and tries
    // again with every later call, so that nothing is lost while the process lives.
    [[nodiscard]] virtual Status learned(const Served& whom, const Lesson& lesson, const Uafp& after) = 0;

    virtual ~ProfileStore() = default;
};

}  // namespace happe
