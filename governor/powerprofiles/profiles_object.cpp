// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/powerprofiles/profiles_object.h"

#include "governor/bus/bus_call.h"
#include "governor/system/file_descriptor.h"
#include "governor/system/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <variant>

namespace happe {
namespace {

using Kind = ServiceError::Kind;
using Dictionary = std::map<std::string, std::variant<std::string>>;

// A name, both of the service and of its interface, and the path of its object.
struct Face {
    std::string_view name;  // ends with a \0
    const char* path;
};
constexpr std::array kFaces{Face{"org.freedesktop.UPower.PowerProfiles", "/org/freedesktop/UPower/PowerProfiles"},
                            Face{"net.hadess.PowerProfiles", "/net/hadess/PowerProfiles"}};
constexpr std::string_view kLegacy = kFaces[1].name;

// power-profiles-daemon's, so that an administrator's rules hold here too.
constexpr const char* kToSwitch = "org.freedesktop.UPower.PowerProfiles.switch-profile";
constexpr const char* kToHold = "org.freedesktop.UPower.PowerProfiles.hold-profile";

constexpr const char* kLimited = "frequency-limited";
constexpr const char* kRunIsOn = "a run of a study is in progress: change the profile after it ends";
constexpr std::size_t kLongestFile = 64;

std::vector<Dictionary> profiles() {
    std::vector<Dictionary> all;
    for (const PowerProfile profile : {PowerProfile::PowerSaver, PowerProfile::Balanced, PowerProfile::Performance}) {
        all.push_back({{"Profile", name_of(profile)}, {"CpuDriver", "happe"}, {"Driver", "happe"}});
    }
    return all;
}

std::vector<Dictionary> described(const ProfileChoice::Holds& holds) {
    std::vector<Dictionary> all;
    for (const auto& [cookie, hold] : holds) {
        all.push_back(
            {{"ApplicationId", hold.application}, {"Profile", name_of(hold.profile)}, {"Reason", hold.reason}});
    }
    return all;
}

// get(shown) is the property's value.
template <auto get>
int on_get(sd_bus* /*bus*/, const char* /*path*/, const char* /*interface*/, const char* /*property*/,
           sd_bus_message* reply, void* data, sd_bus_error* /*error*/) {
    const auto value = get(static_cast<const ProfilesObject*>(data)->shown());
    return wire::Type<std::remove_cv_t<decltype(value)>>::append(reply, value) ? 0 : -EINVAL;
}

using Shown = ProfilesObject::Shown;
// Functions, not lambdas: clang names the lambdas of two libraries alike where they are arguments of templates.
std::string active_profile(const Shown& shown) {
    return shown.active;
}
std::string degraded(const Shown& shown) {
    return shown.degraded;
}
std::vector<Dictionary> holds(const Shown& shown) {
    return described(shown.holds);
}
std::vector<Dictionary> every_profile(const Shown& /*shown*/) {
    return profiles();
}
std::string no_text(const Shown& /*shown*/) {
    return {};
}
std::vector<std::string> no_names(const Shown& /*shown*/) {
    return {};
}
std::vector<Dictionary> no_actions(const Shown& /*shown*/) {
    return {};
}
std::string version(const Shown& /*shown*/) {
    return HAPPE_VERSION;
}
bool not_aware(const Shown& /*shown*/) {
    return false;
}

// Never called: ProfilesObject::on_message takes each Set of the property, and may answer later.
int on_set(sd_bus* /*bus*/, const char* /*path*/, const char* /*interface*/, const char* /*property*/,
           sd_bus_message* /*value*/, void* /*data*/, sd_bus_error* /*error*/) {
    return -EACCES;
}

Answer<PowerProfile> known_profile(const std::string& name) {
    const auto profile = profile_named(name);
    return profile ? Answer<PowerProfile>(*profile)
                   : refusal(Kind::InvalidArgument, "profile: must be power-saver, balanced or performance");
}

}  // namespace

ProfilesObject::ProfilesObject(sd_bus* bus, std::filesystem::path file, std::function<void(const Error&)> failed)
    : bus_(bus),
      file_(std::move(file)),
      failed_(std::move(failed)),
      callers_(bus, [this](const std::string& left) { ended(choice_.left(left)); }),
      polkit_(bus),
      governor_(bus, {.changed = [this] { changed(); }, .failed = [this](const Error& error) { failed_(error); }}) {}

Status ProfilesObject::start() {
    const FileDescriptor file(::open(file_.c_str(), O_RDONLY | O_CLOEXEC));
    if (auto text = file ? read_all(file.get(), kLongestFile) : std::nullopt) {
        const auto profile = profile_named(std::string_view(*text).substr(0, text->find('\n')));
        choice_ = ProfileChoice(profile.value_or(PowerProfile::Balanced));
        if (!profile) {
            failed_(Error{fmt::format("{}: names no profile; the profile is balanced", file_.string())});
        }
    }
    changed();
    for (const Face& face : kFaces) {
        tables_.push_back(interface_table(face.name == kLegacy));
        bus::Slot set;
        bus::Slot offered;
        int status = bus::take(
            set, [&](sd_bus_slot** raw) { return sd_bus_add_object(bus_, raw, face.path, on_message, this); });
        if (status >= 0) {
            status = bus::take(offered, [&](sd_bus_slot** raw) {
                return sd_bus_add_object_vtable(bus_, raw, face.path, face.name.data(), tables_.back().data(), this);
            });
        }
        slots_.push_back(std::move(set));
        slots_.push_back(std::move(offered));
        if (status >= 0) {
            status = sd_bus_request_name(bus_, face.name.data(), 0);
        }
        if (status == -EEXIST) {
            return failure(fmt::format(
                "another program has the name {} on the bus: power-profiles-daemon or a similar one", face.name));
        }
        if (status < 0) {
            return failure(
                fmt::format("cannot take the name {} on the bus: {}", face.name, bus::error_of(status).message));
        }
    }
    return governor_.start();
}

std::vector<sd_bus_vtable> ProfilesObject::interface_table(bool legacy) {
    constexpr std::uint64_t kConst = SD_BUS_VTABLE_PROPERTY_CONST;
    constexpr std::uint64_t kChanges = SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE;
    std::vector<sd_bus_vtable> table{
        SD_BUS_VTABLE_START(0),
        SD_BUS_WRITABLE_PROPERTY("ActiveProfile", "s", on_get<active_profile>, on_set, 0,
                                 kChanges | SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_PROPERTY("PerformanceInhibited", "s", on_get<no_text>, 0, kConst),
        SD_BUS_PROPERTY("PerformanceDegraded", "s", on_get<degraded>, 0, kChanges),
        SD_BUS_PROPERTY("Profiles", "aa{sv}", on_get<every_profile>, 0, kConst),
        SD_BUS_PROPERTY("Actions", "as", on_get<no_names>, 0, kConst),
        SD_BUS_PROPERTY("ActiveProfileHolds", "aa{sv}", on_get<holds>, 0, kChanges),
        SD_BUS_PROPERTY("Version", "s", on_get<version>, 0, kConst),
        SD_BUS_METHOD_WITH_ARGS("HoldProfile", SD_BUS_ARGS("s", profile, "s", reason, "s", application_id),
                                SD_BUS_RESULT("u", cookie), on_hold, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("ReleaseProfile", SD_BUS_ARGS("u", cookie), SD_BUS_NO_RESULT, on_release,
                                SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_SIGNAL_WITH_ARGS("ProfileReleased", SD_BUS_ARGS("u", cookie), 0)};
    if (!legacy) {
        table.push_back(SD_BUS_PROPERTY("ActionsInfo", "aa{sv}", on_get<no_actions>, 0, kConst));
        table.push_back(SD_BUS_PROPERTY("BatteryAware", "b", on_get<not_aware>, 0, kConst));
    }
    table.push_back(SD_BUS_VTABLE_END);
    return table;
}

// Filters messages before sd-bus handles them: polkit may need time to allow a Set of ActiveProfile, and sd-bus would
// not wait.
int ProfilesObject::on_message(sd_bus_message* message, void* data, sd_bus_error* /*error*/) {
    if (sd_bus_message_is_method_call(message, "org.freedesktop.DBus.Properties", "Set") == 0) {
        return 0;
    }
    const char* interface = nullptr;
    const char* property = nullptr;
    if (sd_bus_message_has_signature(message, "ssv") == 0 ||
        sd_bus_message_read(message, "ss", &interface, &property) < 0 ||
        std::ranges::find(kFaces, std::string_view(interface), &Face::name) == kFaces.end() ||
        std::string_view(property) != "ActiveProfile") {
        sd_bus_message_rewind(message, 1);
        return 0;
    }
    const auto name = wire::read_variant<std::string>(message);
    const auto profile = known_profile(name.value_or(""));
    if (!profile) {
        refuse(message, profile.error());
        return 1;
    }
    auto* const self = static_cast<ProfilesObject*>(data);
    self->with_permission(message, kToSwitch,
                          [self, wanted = *profile](sd_bus_message* asked) { self->choose(asked, wanted); });
    return 1;
}

int ProfilesObject::on_hold(sd_bus_message* message, void* data, sd_bus_error* /*error*/) {
    auto* const self = static_cast<ProfilesObject*>(data);
    const auto read =
        read_arguments<std::string, std::string, std::string>(message, "profile\0reason\0application_id\0");
    const auto profile =
        read ? known_profile(std::get<0>(*read)) : Answer<PowerProfile>(tl::unexpected<ServiceError>(read.error()));
    if (!profile || *profile == PowerProfile::Balanced) {
        refuse(message,
               profile ? ServiceError{Kind::InvalidArgument, "profile: only power-saver and performance can be held"}
                       : profile.error());
        return 1;
    }
    ProfileHold wanted{.profile = *profile,
                       .reason = std::get<1>(*read),
                       .application = std::get<2>(*read),
                       .holder = sd_bus_message_get_sender(message),
                       .interface = sd_bus_message_get_interface(message)};
    self->with_permission(message, kToHold,
                          [self, wanted = std::move(wanted)](sd_bus_message* asked) { self->hold(asked, wanted); });
    return 1;
}

int ProfilesObject::on_release(sd_bus_message* message, void* data, sd_bus_error* /*error*/) {
    auto* const self = static_cast<ProfilesObject*>(data);
    std::uint32_t cookie = 0;
    sd_bus_message_read(message, "u", &cookie);
    const auto released = self->choice_.release(cookie, sd_bus_message_get_sender(message));
    if (released.empty()) {
        refuse(message, {Kind::InvalidArgument, "cookie: not one of your holds"});
        return 1;
    }
    self->ended(released);
    sd_bus_reply_method_return(message, "");
    return 1;
}

void ProfilesObject::with_permission(sd_bus_message* message, const char* action,
                                     std::function<void(sd_bus_message*)> act) {
    const Caller* const caller = callers_.of(message);
    if (caller == nullptr) {
        refuse(message, {Kind::AccessDenied, "the bus does not say who you are"});
        return;
    }
    const std::shared_ptr<sd_bus_message> kept(sd_bus_message_ref(message), &sd_bus_message_unref);
    polkit_.require(message, caller->uid, action, [this, kept, act = std::move(act)](const Answer<void>& allowed) {
        if (!allowed) {
            refuse(kept.get(), allowed.error());
        } else if (governor_.run()) {
            refuse(kept.get(), {Kind::Busy, kRunIsOn});
        } else {
            act(kept.get());
        }
    });
}

void ProfilesObject::choose(sd_bus_message* message, PowerProfile profile) {
    const auto released = choice_.choose(profile);
    keep_choice();
    ended(released);
    sd_bus_reply_method_return(message, "");
}

void ProfilesObject::hold(sd_bus_message* message, ProfileHold wanted) {
    const Caller* const caller = callers_.of(message);
    if (caller == nullptr || !callers_.tell_when_left(*caller)) {
        return;  // the caller has left, and nobody waits for the answer
    }
    const auto cookie = choice_.hold(std::move(wanted));
    if (!cookie) {
        refuse(message, {Kind::LimitsExceeded, fmt::format("you hold {} times already", ProfileChoice::kMostHolds)});
        return;
    }
    sd_bus_reply_method_return(message, "u", *cookie);
    changed();
}

// Stores the choice. It is in force even if this fails.
void ProfilesObject::keep_choice() {
    if (const Status kept = write_file(file_, std::string(name_of(choice_.chosen())) + '\n', 0644); !kept) {
        failed_(kept.error());
    }
}

void ProfilesObject::ended(const ProfileChoice::Holds& holds) {
    for (const auto& [cookie, hold] : holds) {
        const Face& face = hold.interface == kLegacy ? kFaces[1] : kFaces[0];
        bus::Message told;
        if (bus::take(told,
                      [&, &face = face](sd_bus_message** raw) {
                          return sd_bus_message_new_signal(bus_, raw, face.path, face.name.data(), "ProfileReleased");
                      }) >= 0 &&
            sd_bus_message_append(told.get(), "u", cookie) >= 0) {
            sd_bus_send_to(bus_, told.get(), hold.holder.c_str(), nullptr);
        }
    }
    changed();
}

// Announces changed properties, and asks happed to follow.
void ProfilesObject::changed() {
    const ProfileHold* const held = choice_.deciding();
    governor_.want({.profile = choice_.active(),
                    .application = held == nullptr || held->application.empty() ? "power profile" : held->application,
                    .reason = held == nullptr || held->reason.empty() ? name_of(choice_.active()) : held->reason});
    const Shown before =
        std::exchange(shown_, {name_of(choice_.active()), governor_.limited() ? kLimited : "", choice_.holds()});
    std::vector<std::string> names;
    if (before.active != shown_.active) {
        names.emplace_back("ActiveProfile");
    }
    if (before.degraded != shown_.degraded) {
        names.emplace_back("PerformanceDegraded");
    }
    if (before.holds != shown_.holds) {
        names.emplace_back("ActiveProfileHolds");
    }
    std::vector<char*> given;
    for (std::string& name : names) {
        given.push_back(name.data());
    }
    given.push_back(nullptr);
    for (const Face& face : kFaces) {
        if (!names.empty()) {
            sd_bus_emit_properties_changed_strv(bus_, face.path, face.name.data(), given.data());
        }
    }
}

}  // namespace happe
