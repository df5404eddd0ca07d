// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/documents/profile_document.h"
#include "governor/happed/day_tally.h"
#include "governor/happed/requests/attention_requests.h"
#include "governor/happed/requests/bus_call.h"
#include "governor/happed/requests/profile_requests.h"
#include "governor/happed/requests/settings_requests.h"
#include "governor/happed/runs/run_requests.h"

#include <fmt/format.h>
#include <pwd.h>
#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <utility>

namespace happe {
namespace {

using Kind = ServiceError::Kind;

constexpr std::uint32_t kMostListed = 10'000;
constexpr std::uint32_t kMostUndone = 1000;
constexpr std::uint32_t kLongestLearnMs = 60'000;

Answer<std::string> user_name(uid_t uid) {
    std::array<char, 4096> buffer{};
    passwd entry{};
    passwd* found = nullptr;
    getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found);
    if (found == nullptr) {
        return refusal(Kind::NotFound, fmt::format("user {} has no name", uid));
    }
    return std::string(found->pw_name);
}

// The user that an argument names (empty: the caller), if the caller may see this user's profiles.
Answer<std::string> user_of(const Call& call, const std::string& given) {
    auto user = given.empty() ? user_name(call.caller.uid) : Answer<std::string>(given);
    if (user && !call.object.may_see_profiles(call.caller, *user)) {
        return refusal(Kind::AccessDenied,
                       fmt::format("{} is the subject of a blind run, so you cannot see this", *user));
    }
    return user;
}

Answer<Served> whom_of(const Call& call, const std::string& user, const std::string& application) {
    return user_of(call, user).and_then([&](const std::string& name) -> Answer<Served> {
        return application.empty() ? refusal(Kind::InvalidArgument, "application: empty")
                                   : Answer<Served>(served_of(name, application));
    });
}

// No client may change a run's subject: otherwise its profile would differ from the result of its trace.
Answer<void> may_change(const Call& call, const std::string& user) {
    return call.object.shown().is_run_subject(user)
               ? refusal(Kind::Busy, fmt::format("a run of {} is in progress", user))
               : Answer<void>();
}

// Call before happed stores anything for the caller.
Answer<void> watch(const Call& call) {
    return call.object.tell_when_left(call.caller) ? Answer<void>()
                                                   : refusal(Kind::AccessDenied, "you have left the bus");
}

Answer<StoredProfile> one_profile(ProfileRequests& profiles, const Served& whom) {
    return profiles.list(whom.user).and_then([&](const std::vector<StoredProfile>& all) -> Answer<StoredProfile> {
        const auto found = std::ranges::find(all, whom, &StoredProfile::whom);
        if (found == all.end()) {
            return refusal(Kind::NotFound, fmt::format("{} has no profile of {}", whom.user, profile_name(whom)));
        }
        return *found;
    });
}

// The profiles in a document, with this user as their owner.
Answer<std::vector<StoredProfile>> profiles_of_document(const std::string& text, const std::string& user,
                                                        const ProfileRequests& service) {
    auto document = read_profiles(text);
    if (!document) {
        return refusal(Kind::InvalidArgument, "document: " + document.error().message);
    }
    if (document->f_ref != service.f_ref()) {
        return refusal(
            Kind::InvalidArgument,
            fmt::format("document: its profiles come from a machine with a top speed of {} kHz; this one has {} kHz",
                        document->f_ref.value, service.f_ref().value));
    }
    if (document->profiles.size() > kMostProfiles) {
        return refusal(Kind::LimitsExceeded, fmt::format("document: more than {} profiles", kMostProfiles));
    }
    std::set<std::string> applications;
    for (StoredProfile& profile : document->profiles) {
        if (!applications.insert(profile.whom.app).second) {
            return refusal(
                Kind::InvalidArgument,
                fmt::format("document: profiles of {} from several users would become one profile", profile.whom.app));
        }
        profile.whom = served_of(user, profile.whom.app);
    }
    return std::move(document->profiles);
}

template <typename Requests>
Requests& requests(const Call& call) {
    return std::get<Requests&>(call.object.requests());
}

template <typename Requests, typename Method, typename... A>
auto ask(const Call& call, Method Requests::* member, const A&... argument) {
    Requests& asked = requests<Requests>(call);
    if constexpr (std::is_invocable_v<Method Requests::*, Requests&, const Caller&, const A&...>) {
        return (asked.*member)(call.caller, argument...);
    } else {
        return (asked.*member)(argument...);
    }
}

// Passes a call on to a method of one of the classes of requests.
template <auto Member>
constexpr auto kAsk = [](const Call& call, const auto&... argument) { return ask(call, Member, argument...); };

// Does the same if the method stores something for the caller.
template <auto Member>
constexpr auto kAskWatched = [](const Call& call, const auto&... argument) {
    return watch(call).and_then([&] { return ask(call, Member, argument...); });
};

// Handlers that do more.

Answer<std::vector<ApplicationProfile>> list_profiles(const Call& call, const std::string& user) {
    return user_of(call, user)
        .and_then([&](const std::string& name) { return requests<ProfileRequests>(call).list(name); })
        .map([](const std::vector<StoredProfile>& profiles) {
            std::vector<ApplicationProfile> listed;
            listed.reserve(profiles.size());
            for (const StoredProfile& profile : profiles) {
                listed.push_back({profile_name(profile.whom), profile.uafp});
            }
            return listed;
        });
}

Answer<Uafp> get_profile(const Call& call, const std::string& user, const std::string& application) {
    return whom_of(call, user, application)
        .and_then([&](const Served& whom) { return one_profile(requests<ProfileRequests>(call), whom); })
        .map([](const StoredProfile& profile) { return profile.uafp; });
}

Answer<std::vector<LearningEvent>> list_events(const Call& call, const std::string& user,
                                               const std::string& application, std::int64_t after, std::uint32_t most) {
    return whom_of(call, user, application).and_then([&](const Served& whom) {
        return requests<ProfileRequests>(call).events(whom, after, std::min(most, kMostListed));
    });
}

// happed refuses it during any run: a caller who wants to undo the last press does not mean one from before the run.
Answer<std::vector<UndoneLesson>> undo(const Call& call, const std::string& user, const std::string& application,
                                       std::uint32_t most) {
    if (most == 0 || most > kMostUndone) {
        return refusal(Kind::InvalidArgument, fmt::format("most: not 1 to {}", kMostUndone));
    }
    if (!call.object.shown().run.empty()) {
        return refusal(Kind::Busy, "a run is in progress: undo after it has ended");
    }
    return user_of(call, user).and_then([&](const std::string& name) {
        return requests<ProfileRequests>(call).undo(name, application, most);
    });
}

Answer<void> reset_profile(const Call& call, const std::string& user, const std::string& application) {
    auto& profiles = requests<ProfileRequests>(call);
    return whom_of(call, user, application)
        .and_then([&](const Served& whom) { return may_change(call, whom.user).map([&] { return whom; }); })
        .and_then([&](const Served& whom) {
            const auto found = one_profile(profiles, whom);
            const bool is_there = found || found.error().kind != Kind::NotFound;  // an unreadable one can be reset too
            return is_there ? profiles.reset(whom) : tl::unexpected<ServiceError>(found.error());
        });
}

Answer<std::string> export_profiles(const Call& call, const std::string& user) {
    auto& profiles = requests<ProfileRequests>(call);
    return user_of(call, user)
        .and_then([&](const std::string& name) { return profiles.list(name); })
        .map([&](const std::vector<StoredProfile>& all) { return write_profiles({profiles.f_ref(), all}); });
}

Answer<std::uint32_t> import_profiles(const Call& call, const std::string& user, const ProfilesText& document) {
    auto& profiles = requests<ProfileRequests>(call);
    return user_of(call, user)
        .and_then([&](const std::string& name) { return may_change(call, name).map([&] { return name; }); })
        .and_then([&](const std::string& name) { return profiles_of_document(document.text, name, profiles); })
        .and_then([&](const std::vector<StoredProfile>& all) {
            return profiles.replace(all).map([&] { return static_cast<std::uint32_t>(all.size()); });
        });
}

Answer<TimeSpent> time_spent(const Call& call) {
    return user_name(call.caller.uid).and_then([&](const std::string& name) {
        return requests<DayTally>(call).today(name);
    });
}

void learn_key(const Call& call, std::uint32_t timeout_ms, std::function<void(Answer<std::string>)> learned) {
    if (timeout_ms == 0 || timeout_ms > kLongestLearnMs) {
        learned(refusal(Kind::InvalidArgument, fmt::format("timeout_ms: not 1 to {}", kLongestLearnMs)));
    } else if (const auto watched = watch(call); !watched) {
        learned(tl::unexpected<ServiceError>(watched.error()));
    } else {
        requests<SettingsRequests>(call).learn_key(call.caller, std::chrono::milliseconds(timeout_ms),
                                                   std::move(learned));
    }
}

// The polkit action that a call needs; null if none.

constexpr auto kNone = [](const Call&, const auto&...) -> const char* { return nullptr; };
constexpr auto kToHold = [](const Call&, const auto&...) { return "org.happe.governor1.hold"; };
constexpr auto kToConfigure = [](const Call&, const auto&...) { return "org.happe.governor1.configure"; };
constexpr auto kToRun = [](const Call&, const auto&...) { return "org.happe.governor1.run-study"; };

constexpr auto kForUser = [](const Call& call, const std::string& user, const auto&...) -> const char* {
    return user.empty() || user == user_name(call.caller.uid) ? nullptr : "org.happe.governor1.manage-profiles";
};
constexpr auto kForRun = [](const Call& call, const std::string& run) -> const char* {
    return requests<RunRequests>(call).owns(call.caller, run) ? nullptr : kToRun(call);
};

}  // namespace

std::vector<sd_bus_vtable> method_entries() {
    return {
        method_entry<method::kFeedback, kAsk<&AttentionRequests::feedback>, kNone>(),
        method_entry<method::kSetFocus, kAskWatched<&AttentionRequests::set_focus>, kNone>(),
        method_entry<method::kClearFocus, kAsk<&AttentionRequests::clear_focus>, kNone>(),
        method_entry<method::kSetIdle, kAskWatched<&AttentionRequests::set_idle>, kNone>(),
        method_entry<method::kHold, kAskWatched<&AttentionRequests::hold>, kToHold>(),
        method_entry<method::kSavePower, kAskWatched<&AttentionRequests::save_power>, kToHold>(),
        method_entry<method::kRelease, kAsk<&AttentionRequests::release>, kNone>(),
        method_entry<method::kListProfiles, list_profiles, kForUser>(),
        method_entry<method::kGetProfile, get_profile, kForUser>(),
        method_entry<method::kListEvents, list_events, kForUser>(),
        method_entry<method::kUndo, undo, kForUser>(),
        method_entry<method::kResetProfile, reset_profile, kForUser>(),
        method_entry<method::kExportProfiles, export_profiles, kForUser>(),
        method_entry<method::kImportProfiles, import_profiles, kForUser>(),
        method_entry<method::kStartRun, kAskWatched<&RunRequests::start>, kToRun>(),
        method_entry<method::kStopRun, kAsk<&RunRequests::stop>, kForRun>(),
        method_entry<method::kRunFacts, kAsk<&RunRequests::facts>, kForRun>(),
        method_entry<method::kDeviceKey, kAsk<&RunRequests::device_key>, kNone>(),
        method_entry<method::kLearnKey, learn_key, kToConfigure>(),
        method_entry<method::kTimeSpent, time_spent, kNone>(),
        method_entry<method::kReload, kAsk<&SettingsRequests::reload>, kToConfigure>(),
    };
}

}  // namespace happe
