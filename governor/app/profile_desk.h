// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "governor/adapters/governor_service.h"
#include "governor/adapters/sqlite_profile_store.h"

#include <functional>

namespace happe {

// What callers on the bus ask of the device database.
class ProfileDesk final : public ProfileService {
public:
    // `changed`: what was stored is not what the loop knows.
    ProfileDesk(SqliteProfileStore& store, Khz f_ref, std::function<void()> changed)
        : store_(store), f_ref_(f_ref), changed_(std::move(changed)) {}

    Answer<std::vector<StoredProfile>> list(const std::string& user) override {
        return in_terms_of_service(store_.of_user(user));
    }
    Answer<std::vector<LearningEvent>> events(const Served& whom) override {
        return in_terms_of_service(store_.events_of(whom));
    }
    Answer<void> reset(const Served& whom) override { return after(store_.erase(whom)); }
    Answer<void> replace(const std::vector<StoredProfile>& profiles) override {
        return after(store_.replace(profiles));
    }
    [[nodiscard]] Khz f_ref() const override { return f_ref_; }

private:
    template <typename T>
    static Answer<T> in_terms_of_service(Result<T> result) {
        return std::move(result).map_error(
            [](const Error& error) { return ServiceError{ServiceError::Kind::Failed, error.message}; });
    }
    Answer<void> after(Status status) {
        return in_terms_of_service(std::move(status)).map([this] { changed_(); });
    }

    SqliteProfileStore& store_;
    Khz f_ref_;
    std::function<void()> changed_;
};

}  // namespace happe
