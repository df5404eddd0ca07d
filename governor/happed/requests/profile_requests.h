// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "governor/happed/requests/daemon_object.h"
#include "governor/happed/system_log.h"
#include "governor/store/sqlite_profile_store.h"

#include <algorithm>
#include <functional>
#include <ranges>

namespace happe {

// Answers requests on the bus about the device database.
class ProfileRequests {
public:
    // Reads the policies from `shown`. Calls `changed` after each change to stored profiles, which the loop must read
    // again.
    ProfileRequests(SqliteProfileStore& store, const Shown& shown, const SystemLog& journal,
                    std::function<void()> changed)
        : store_(store), shown_(shown), log_(journal), changed_(std::move(changed)) {}

    Answer<std::vector<StoredProfile>> list(const std::string& user) {
        return in_terms_of_service(store_.of_user(user));
    }
    // The oldest `most` events with numbers above `after`.
    Answer<std::vector<LearningEvent>> events(const Served& whom, std::int64_t after, std::uint32_t most) {
        return in_terms_of_service(store_.events_of(whom, after, most)).map([](std::vector<LearningEvent>&& all) {
            std::erase_if(all, [](const LearningEvent& event) { return event.seq == 0; });  // has no number yet
            return std::move(all);
        });
    }
    // Undoes the user's newest lessons that are not undone yet, at most `most`. Unless `profile` is empty, only lessons
    // of that profile.
    Answer<std::vector<UndoneLesson>> undo(const std::string& user, const std::string& profile, std::uint32_t most) {
        return in_terms_of_service(store_.undo(user, profile, most))
            .and_then([this](Undone&& undone) -> Answer<std::vector<UndoneLesson>> {
                if (undone.lessons.empty()) {
                    return refusal(ServiceError::Kind::NotFound, undone.end);
                }
                for (const UndoneLesson& lesson : undone.lessons) {
                    log_.undone(lesson.whom, lesson.event.lesson);
                }
                changed_();
                return std::move(undone.lessons);
            });
    }
    Answer<void> reset(const Served& whom) { return after(store_.erase(whom)); }
    Answer<void> replace(const std::vector<StoredProfile>& profiles) { return after(store_.replace(profiles)); }
    // Profiles are in kHz of the ladder with this top.
    [[nodiscard]] Khz f_ref() const {
        const auto top = [](const Policy& policy) { return policy.ladder.top(); };
        return std::ranges::max(shown_.policies | std::views::transform(top));
    }

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
    const Shown& shown_;
    const SystemLog& log_;
    std::function<void()> changed_;
};

}  // namespace happe
