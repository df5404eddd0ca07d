// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/bus/governor_bus_methods.h"

#include "governor/bus/governor_bus_answers.h"
#include "governor/bus/governor_bus_properties.h"
#include "governor/documents/profile_document.h"

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

constexpr std::size_t kLongestDocument = std::size_t{1} << 20U;
constexpr std::uint32_t kMostListed = 10'000;
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

// The argument `user`, if its profiles are for the caller; empty is the caller.
Answer<std::string> user_argument(const GovernorBus& bus, const Caller& caller, sd_bus_message* call) {
    auto user = string_argument(call, "user").and_then([&](const std::string& given) {
        return given.empty() ? user_name(caller.uid) : Answer<std::string>(given);
    });
    if (user && !bus.may_see_profiles(caller, *user)) {
        return refusal(Kind::AccessDenied,
                       fmt::format("{} is the subject of a blind run, which is not for you to see", *user));
    }
    return user;
}

// A run ends with the profile that its trace leads to.
Answer<void> may_change(const GovernorBus& bus, const std::string& user) {
    return user == bus.shown().run_subject ? refusal(Kind::Busy, fmt::format("a run of {} is on", user))
                                           : Answer<void>();
}

Answer<Served> whom_arguments(const GovernorBus& bus, const Caller& caller, sd_bus_message* call) {
    const auto user = user_argument(bus, caller, call);
    const auto application = string_argument(call, "application");
    if (!user || !application) {
        return tl::unexpected<ServiceError>(!user ? user.error() : application.error());
    }
    if (application->empty()) {
        return refusal(Kind::InvalidArgument, "application: empty");
    }
    return Served{.user = *user, .app = *application};
}

Answer<StoredProfile> one_profile(ProfileService& profiles, const Served& whom) {
    return profiles.list(whom.user).and_then([&](const std::vector<StoredProfile>& all) -> Answer<StoredProfile> {
        const auto found = std::ranges::find(all, whom, &StoredProfile::whom);
        if (found == all.end()) {
            return refusal(Kind::NotFound, fmt::format("{} has no profile of {}", whom.user, whom.app));
        }
        return *found;
    });
}

// What a document would store under this user.
Answer<std::vector<StoredProfile>> profiles_of_document(const std::string& text, const std::string& user,
                                                        const ProfileService& service) {
    auto document = read_profiles(text);
    if (!document) {
        return refusal(Kind::InvalidArgument, "document: " + document.error().message);
    }
    if (document->f_ref != service.f_ref()) {
        return refusal(Kind::InvalidArgument,
                       fmt::format("document: its profiles are of a machine whose top is {} kHz; this one's is {} kHz",
                                   document->f_ref.value, service.f_ref().value));
    }
    if (document->profiles.size() > kMostProfiles) {
        return refusal(Kind::LimitsExceeded, fmt::format("document: more than {} profiles", kMostProfiles));
    }
    std::set<std::string> applications;
    for (StoredProfile& profile : document->profiles) {
        profile.whom.user = user;
        if (!applications.insert(profile.whom.app).second) {
            return refusal(Kind::InvalidArgument,
                           fmt::format("document: several users' profiles of {}: they would be one", profile.whom.app));
        }
    }
    return std::move(document->profiles);
}

int append_event(sd_bus_message* message, const LearningEvent& event) {
    const Lesson& lesson = event.lesson;
    return sd_bus_message_append(message, "(xxsquuuuu)", event.seq, std::int64_t{event.at.time_since_epoch().count()},
                                 key_name(lesson.key), lesson.policy.value, std::uint32_t{lesson.level.value},
                                 lesson.from.value, lesson.to.value, lesson.current.value, lesson.utilisation.value);
}

}  // namespace

MethodAnswer feedback(GovernorBus& bus, const Caller& caller, sd_bus_message* call) {
    const auto key = string_argument(call, "key");
    if (!key) {
        return tl::unexpected<ServiceError>(key.error());
    }
    for (const Key one : {Key::Performance, Key::Power}) {
        if (*key == key_name(one)) {
            return reply(call, bus.services().attention.feedback(caller, one));
        }
    }
    return refusal(Kind::InvalidArgument, "key: neither \"performance\" nor \"power\"");
}

MethodAnswer set_focus(GovernorBus& bus, const Caller& caller, sd_bus_message* call) {
    int pidfd = -1;
    if (const int status = sd_bus_message_read(call, "h", &pidfd); status < 0) {
        return bus_failure(status);
    }
    const auto hint = string_argument(call, "hint");
    if (!hint) {
        return tl::unexpected<ServiceError>(hint.error());
    }
    if (!bus.tell_when_left(caller)) {
        return has_left();
    }
    return bus.services().attention.set_focus(caller, pidfd, *hint).and_then([&](const std::string& application) {
        return reply(call, "s", application.c_str());
    });
}

MethodAnswer clear_focus(GovernorBus& bus, const Caller& caller, sd_bus_message* call) {
    return reply(call, bus.services().attention.clear_focus(caller));
}

MethodAnswer hold(GovernorBus& bus, const Caller& caller, sd_bus_message* call) {
    const auto program = string_argument(call, "application");
    const auto reason = string_argument(call, "reason");
    if (!program || !reason) {
        return tl::unexpected<ServiceError>(!program ? program.error() : reason.error());
    }
    if (!bus.tell_when_left(caller)) {
        return has_left();
    }
    return bus.services().attention.hold(caller, *program, *reason).and_then([&](std::uint32_t cookie) {
        return reply(call, "u", cookie);
    });
}

MethodAnswer release(GovernorBus& bus, const Caller& caller, sd_bus_message* call) {
    std::uint32_t cookie = 0;
    if (const int status = sd_bus_message_read(call, "u", &cookie); status < 0) {
        return bus_failure(status);
    }
    return reply(call, bus.services().attention.release(caller, cookie));
}

MethodAnswer list_profiles(GovernorBus& bus, const Caller& caller, sd_bus_message* call) {
    const auto profiles = user_argument(bus, caller, call).and_then([&](const std::string& user) {
        return bus.services().profiles.list(user);
    });
    if (!profiles) {
        return tl::unexpected<ServiceError>(profiles.error());
    }
    auto answer = reply(call, "");
    int status = answer ? sd_bus_message_open_container(answer->get(), SD_BUS_TYPE_ARRAY, "(sau)") : 0;
    for (auto it = profiles->begin(); answer && status >= 0 && it != profiles->end(); ++it) {
        sd_bus_message_open_container(answer->get(), SD_BUS_TYPE_STRUCT, "sau");
        sd_bus_message_append(answer->get(), "s", it->whom.app.c_str());
        append_khz(answer->get(), it->uafp);
        status = sd_bus_message_close_container(answer->get());  // an error above leaves this one open
    }
    if (answer && status >= 0) {
        status = sd_bus_message_close_container(answer->get());
    }
    return status < 0 ? MethodAnswer(bus_failure(status)) : std::move(answer);
}

MethodAnswer get_profile(GovernorBus& bus, const Caller& caller, sd_bus_message* call) {
    const auto profile = whom_arguments(bus, caller, call).and_then([&](const Served& whom) {
        return one_profile(bus.services().profiles, whom);
    });
    if (!profile) {
        return tl::unexpected<ServiceError>(profile.error());
    }
    auto answer = reply(call, "");
    const int status = answer ? append_khz(answer->get(), profile->uafp) : 0;
    return status < 0 ? MethodAnswer(bus_failure(status)) : std::move(answer);
}

MethodAnswer list_events(GovernorBus& bus, const Caller& caller, sd_bus_message* call) {
    const auto whom = whom_arguments(bus, caller, call);
    std::int64_t after = 0;
    std::uint32_t most = 0;
    int status = sd_bus_message_read(call, "xu", &after, &most);
    if (!whom || status < 0) {
        return whom ? bus_failure(status) : tl::unexpected<ServiceError>(whom.error());
    }
    const auto events = bus.services().profiles.events(*whom, after, std::min(most, kMostListed));
    if (!events) {
        return tl::unexpected<ServiceError>(events.error());
    }
    auto answer = reply(call, "");
    status = answer ? sd_bus_message_open_container(answer->get(), SD_BUS_TYPE_ARRAY, "(xxsquuuuu)") : 0;
    for (auto it = events->begin(); answer && status >= 0 && it != events->end(); ++it) {
        status = append_event(answer->get(), *it);
    }
    if (answer && status >= 0) {
        status = sd_bus_message_close_container(answer->get());
    }
    return status < 0 ? MethodAnswer(bus_failure(status)) : std::move(answer);
}

MethodAnswer reset_profile(GovernorBus& bus, const Caller& caller, sd_bus_message* call) {
    return whom_arguments(bus, caller, call)
        .and_then([&](const Served& whom) { return may_change(bus, whom.user).map([&] { return whom; }); })
        .and_then([&](const Served& whom) { return one_profile(bus.services().profiles, whom); })
        .and_then([&](const StoredProfile& found) { return reply(call, bus.services().profiles.reset(found.whom)); });
}

MethodAnswer export_profiles(GovernorBus& bus, const Caller& caller, sd_bus_message* call) {
    const auto profiles = user_argument(bus, caller, call).and_then([&](const std::string& user) {
        return bus.services().profiles.list(user);
    });
    if (!profiles) {
        return tl::unexpected<ServiceError>(profiles.error());
    }
    return reply(call, "s", write_profiles({bus.services().profiles.f_ref(), *profiles}).c_str());
}

MethodAnswer import_profiles(GovernorBus& bus, const Caller& caller, sd_bus_message* call) {
    const auto user = user_argument(bus, caller, call);
    const auto text = string_argument(call, "document", kLongestDocument);
    if (!user || !text) {
        return tl::unexpected<ServiceError>(!user ? user.error() : text.error());
    }
    return may_change(bus, *user)
        .and_then([&] { return profiles_of_document(*text, *user, bus.services().profiles); })
        .and_then([&](const std::vector<StoredProfile>& profiles) {
            const auto count = static_cast<std::uint32_t>(profiles.size());
            return bus.services().profiles.replace(profiles).and_then([&] { return reply(call, "u", count); });
        });
}

MethodAnswer learn_key(GovernorBus& bus, const Caller& caller, sd_bus_message* call) {
    std::uint32_t timeout_ms = 0;
    if (const int status = sd_bus_message_read(call, "u", &timeout_ms); status < 0) {
        return bus_failure(status);
    }
    if (timeout_ms == 0 || timeout_ms > kLongestLearnMs) {
        return refusal(Kind::InvalidArgument, fmt::format("timeout_ms: not 1 to {}", kLongestLearnMs));
    }
    if (!bus.tell_when_left(caller)) {
        return has_left();
    }
    const std::shared_ptr<sd_bus_message> kept(sd_bus_message_ref(call), &sd_bus_message_unref);
    bus.services().settings.learn_key(
        caller, std::chrono::milliseconds(timeout_ms), [kept](const Answer<std::string>& key) {
            send_answer(kept.get(),
                        key.and_then([&](const std::string& name) { return reply(kept.get(), "s", name.c_str()); }));
        });
    return bus::Message();
}

MethodAnswer reload(GovernorBus& bus, const Caller& /*caller*/, sd_bus_message* call) {
    return reply(call, bus.services().settings.reload());
}

const char* permission_to_hold(GovernorBus& /*bus*/, const Caller& /*caller*/, sd_bus_message* /*call*/) {
    return "org.happe.governor1.hold";
}

const char* permission_for_user(GovernorBus& /*bus*/, const Caller& caller, sd_bus_message* call) {
    const char* user = nullptr;
    const bool own = sd_bus_message_read(call, "s", &user) >= 0 && (*user == '\0' || user == user_name(caller.uid));
    sd_bus_message_rewind(call, 1);
    return own ? nullptr : "org.happe.governor1.manage-profiles";
}

const char* permission_to_configure(GovernorBus& /*bus*/, const Caller& /*caller*/, sd_bus_message* /*call*/) {
    return "org.happe.governor1.configure";
}

int answer_call(GovernorBus& bus, sd_bus_message* call, Method method, Permission permission) {
    const Caller* const known = bus.caller(call);
    if (known == nullptr) {  // it has left, or the bus does not know its user or process
        send_answer(call, refusal(Kind::AccessDenied, "the bus does not say who you are"));
        return 1;
    }
    const Caller caller = *known;
    const char* const action = permission(bus, caller, call);
    if (action == nullptr || caller.uid == 0) {
        send_answer(call, method(bus, caller, call));
        return 1;
    }
    const std::shared_ptr<sd_bus_message> kept(sd_bus_message_ref(call), &sd_bus_message_unref);
    if (bus.polkit().waiting_of(caller.uid) >= Polkit::kMostWaiting) {
        send_answer(call, refusal(Kind::LimitsExceeded, "too many of your calls wait for polkit"));
        return 1;
    }
    bus.polkit().ask(call, caller.uid, action, [&bus, caller, kept, method, action](const Result<bool>& allowed) {
        if (!allowed) {
            send_answer(kept.get(), refusal(Kind::AccessDenied, "polkit cannot be asked: " + allowed.error().message));
        } else if (!*allowed) {
            send_answer(kept.get(), refusal(Kind::AccessDenied, fmt::format("polkit does not allow {}", action)));
        } else {
            send_answer(kept.get(), method(bus, caller, kept.get()));
        }
    });
    return 1;
}

}  // namespace happe
