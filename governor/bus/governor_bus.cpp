// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/bus/governor_bus.h"

#include "governor/bus/governor_bus_methods.h"
#include "governor/bus/governor_bus_properties.h"

#include <fmt/format.h>
#include <array>
#include <utility>

namespace happe {
namespace {

constexpr std::size_t kMostCallers = 256;  // remembered; more are asked for again

constexpr auto kChanges = SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE;
constexpr auto kInvalidates = SD_BUS_VTABLE_PROPERTY_EMITS_INVALIDATION;
constexpr auto kConst = SD_BUS_VTABLE_PROPERTY_CONST;
constexpr auto kOpen = SD_BUS_VTABLE_UNPRIVILEGED;

// As profiles/dbus/org.happe.Governor1.xml has it.
// clang-format off
const std::array<sd_bus_vtable, 35> kVtable{{
    SD_BUS_VTABLE_START(0),
    SD_BUS_METHOD_WITH_ARGS("Feedback", SD_BUS_ARGS("s", key), SD_BUS_NO_RESULT, on_call<feedback>, kOpen),
    SD_BUS_METHOD_WITH_ARGS("SetFocus", SD_BUS_ARGS("h", process, "s", hint), SD_BUS_RESULT("s", application), on_call<set_focus>, kOpen),
    SD_BUS_METHOD_WITH_ARGS("ClearFocus", SD_BUS_NO_ARGS, SD_BUS_NO_RESULT, on_call<clear_focus>, kOpen),
    SD_BUS_METHOD_WITH_ARGS("Hold", SD_BUS_ARGS("s", application, "s", reason), SD_BUS_RESULT("u", cookie), (on_call<hold, permission_to_hold>), kOpen),
    SD_BUS_METHOD_WITH_ARGS("Release", SD_BUS_ARGS("u", cookie), SD_BUS_NO_RESULT, on_call<release>, kOpen),
    SD_BUS_METHOD_WITH_ARGS("ListProfiles", SD_BUS_ARGS("s", user), SD_BUS_RESULT("a(sau)", profiles), (on_call<list_profiles, permission_for_user>), kOpen),
    SD_BUS_METHOD_WITH_ARGS("GetProfile", SD_BUS_ARGS("s", user, "s", application), SD_BUS_RESULT("au", khz), (on_call<get_profile, permission_for_user>), kOpen),
    SD_BUS_METHOD_WITH_ARGS("ListEvents", SD_BUS_ARGS("s", user, "s", application, "x", after, "u", most), SD_BUS_RESULT("a(xxsquuuuu)", events), (on_call<list_events, permission_for_user>), kOpen),
    SD_BUS_METHOD_WITH_ARGS("ResetProfile", SD_BUS_ARGS("s", user, "s", application), SD_BUS_NO_RESULT, (on_call<reset_profile, permission_for_user>), kOpen),
    SD_BUS_METHOD_WITH_ARGS("ExportProfiles", SD_BUS_ARGS("s", user), SD_BUS_RESULT("s", document), (on_call<export_profiles, permission_for_user>), kOpen),
    SD_BUS_METHOD_WITH_ARGS("ImportProfiles", SD_BUS_ARGS("s", user, "s", document), SD_BUS_RESULT("u", imported), (on_call<import_profiles, permission_for_user>), kOpen),
    SD_BUS_METHOD_WITH_ARGS("StartRun", SD_BUS_ARGS("a{sv}", what), SD_BUS_RESULT("s", run), (on_call<start_run, permission_to_run>), kOpen),
    SD_BUS_METHOD_WITH_ARGS("StopRun", SD_BUS_ARGS("s", run), SD_BUS_RESULT("h", trace), (on_call<stop_run, permission_to_stop>), kOpen),
    SD_BUS_METHOD_WITH_ARGS("RunFacts", SD_BUS_ARGS("s", run), SD_BUS_RESULT("s", document), (on_call<run_facts, permission_to_stop>), kOpen),
    SD_BUS_METHOD_WITH_ARGS("DeviceKey", SD_BUS_NO_ARGS, SD_BUS_RESULT("ay", key), on_call<device_key>, kOpen),
    SD_BUS_METHOD_WITH_ARGS("LearnKey", SD_BUS_ARGS("u", timeout_ms), SD_BUS_RESULT("s", key), (on_call<learn_key, permission_to_configure>), kOpen),
    SD_BUS_METHOD_WITH_ARGS("Reload", SD_BUS_NO_ARGS, SD_BUS_NO_RESULT, (on_call<reload, permission_to_configure>), kOpen),
    SD_BUS_PROPERTY("Version", "s", get<show_version>, 0, kConst),
    SD_BUS_PROPERTY("Backend", "s", get<show_backend>, 0, kChanges),
    SD_BUS_PROPERTY("Ladders", "a(qauau)", get<show_ladders>, 0, kChanges),
    SD_BUS_PROPERTY("State", "s", get<show_state>, 0, kChanges),
    SD_BUS_PROPERTY("Reason", "s", get<show_reason>, 0, kChanges),
    SD_BUS_PROPERTY("Settings", "a{sv}", get<show_settings>, 0, kChanges),
    SD_BUS_PROPERTY("Keyboards", "u", get<show_keyboards>, 0, kChanges),
    SD_BUS_PROPERTY("Holds", "a(ss)", get<show_holds>, 0, kChanges),
    SD_BUS_PROPERTY("Run", "s", get<show_run>, 0, kChanges),
    SD_BUS_PROPERTY("Indicator", "b", get<show_indicator>, 0, kChanges),
    SD_BUS_PROPERTY("Targets", "a(qu)", get_private<show_targets>, 0, kInvalidates),
    SD_BUS_PROPERTY("User", "s", get_private<show_user>, 0, kInvalidates),
    SD_BUS_PROPERTY("Application", "s", get_private<show_application>, 0, kInvalidates),
    SD_BUS_PROPERTY("Profile", "au", get_private<show_profile>, 0, kInvalidates),
    SD_BUS_PROPERTY("Sample", "a(quuy)", get_private<show_sample>, 0, 0),
    SD_BUS_SIGNAL_WITH_ARGS("KeyCounted", SD_BUS_ARGS("s", key), 0),
    SD_BUS_VTABLE_END,
}};
// clang-format on

// What differs between what was announced and what is so now, to be announced.
class Changes {
public:
    Changes(Shown& announced, const Shown& now) : announced_(announced), now_(now) {}

    template <typename T>
    void look_at(T Shown::* property, const char* name) {
        if (announced_.*property != now_.*property) {
            announced_.*property = now_.*property;
            // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): sd-bus takes char**, and only reads
            names_.at(count_++) = const_cast<char*>(name);
        }
    }
    void announce(sd_bus* bus) {
        if (count_ > 0) {
            sd_bus_emit_properties_changed_strv(bus, GovernorBus::kPath, GovernorBus::kName, names_.data());
        }
    }

private:
    Shown& announced_;
    const Shown& now_;
    std::array<char*, 14> names_{};  // ends with a null pointer
    std::size_t count_ = 0;
};

}  // namespace

GovernorBus::GovernorBus(sd_bus* bus, Services services, const Shown& shown,
                         std::function<void(const std::string&)> left)
    : bus_(bus), services_(services), shown_(shown), announced_(shown), left_(std::move(left)), polkit_(bus) {}

Status GovernorBus::start() {
    int status = bus::take(vtable_, [this](sd_bus_slot** raw) {
        return sd_bus_add_object_vtable(bus_, raw, kPath, kName, kVtable.data(), this);
    });
    if (status >= 0) {
        status = sd_bus_request_name(bus_, kName, 0);
    }
    if (status == -EEXIST) {
        return failure(fmt::format("{} is taken on the bus: another happed runs", kName));
    }
    if (status < 0) {
        return failure(fmt::format("cannot take the name {} on the bus: {}", kName, bus::error_of(status).message));
    }
    return {};
}

void GovernorBus::changed() {
    Changes changes(announced_, shown_);
    changes.look_at(&Shown::backend, "Backend");
    changes.look_at(&Shown::policies, "Ladders");
    changes.look_at(&Shown::state, "State");
    changes.look_at(&Shown::reason, "Reason");
    changes.look_at(&Shown::settings, "Settings");
    changes.look_at(&Shown::keyboards, "Keyboards");
    changes.look_at(&Shown::holds, "Holds");
    changes.look_at(&Shown::run, "Run");
    changes.look_at(&Shown::indicator, "Indicator");
    if (!shown_.blind) {  // when something private changes tells of a run, too
        changes.look_at(&Shown::targets, "Targets");
        changes.look_at(&Shown::user, "User");
        changes.look_at(&Shown::application, "Application");
        changes.look_at(&Shown::profile, "Profile");
    }
    changes.announce(bus_);
}

void GovernorBus::turned() {
    if (!shown_.blind) {
        Changes changes(announced_, shown_);
        changes.look_at(&Shown::targets, "Targets");
        changes.look_at(&Shown::profile, "Profile");
        changes.announce(bus_);
    }
}

void GovernorBus::key_counted(Key key) {
    sd_bus_emit_signal(bus_, kPath, kName, "KeyCounted", "s", key_name(key));
}

const Caller* GovernorBus::caller(sd_bus_message* message) {
    const char* const name = sd_bus_message_get_sender(message);
    if (name == nullptr) {
        return nullptr;
    }
    if (const auto known = callers_.find(name); known != callers_.end()) {
        return &known->second;
    }
    bus::Credentials credentials;
    Caller caller{.bus_name = name};
    if (bus::take(credentials,
                  [&](sd_bus_creds** raw) {
                      return sd_bus_query_sender_creds(message, SD_BUS_CREDS_EUID | SD_BUS_CREDS_PID, raw);
                  }) < 0 ||
        sd_bus_creds_get_euid(credentials.get(), &caller.uid) < 0 ||
        sd_bus_creds_get_pid(credentials.get(), &caller.pid) < 0) {
        return nullptr;
    }
    if (callers_.size() >= kMostCallers) {
        callers_.clear();
    }
    return &callers_.emplace(name, caller).first->second;
}

bool GovernorBus::may_see_private(sd_bus_message* message) {
    const Caller* const who = message != nullptr ? caller(message) : nullptr;
    if (who == nullptr) {
        return false;
    }
    if (shown_.blind) {
        return who->bus_name == shown_.run_viewer;
    }
    return who->uid == 0 || who->uid == shown_.served_uid;
}

bool GovernorBus::may_see_profiles(const Caller& caller, const std::string& user) const {
    return !shown_.blind || shown_.run_viewer == caller.bus_name || shown_.run_subject != user;
}

bool GovernorBus::tell_when_left(const Caller& caller) {
    if (watched_.contains(caller.bus_name)) {
        return true;
    }
    const std::string rule = fmt::format(
        "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',member='NameOwnerChanged',"
        "arg0='{}'",
        caller.bus_name);
    bus::Slot watch;
    bus::take(watch, [&](sd_bus_slot** raw) {
        return sd_bus_add_match_async(bus_, raw, rule.c_str(), on_left, nullptr, this);
    });
    bus::Credentials there;  // the bus answers in order: who is there now is watched
    if (!watch || bus::take(there, [&](sd_bus_creds** raw) {
                      return sd_bus_get_name_creds(bus_, caller.bus_name.c_str(), 0, raw);
                  }) < 0) {
        return false;
    }
    watched_.emplace(caller.bus_name, std::move(watch));
    return true;
}

int GovernorBus::on_left(sd_bus_message* message, void* data, sd_bus_error* /*error*/) {
    auto* const self = static_cast<GovernorBus*>(data);
    const char* name = nullptr;
    if (sd_bus_message_read(message, "s", &name) >= 0) {
        const std::string left = name;
        self->callers_.erase(left);
        self->left_(left);
        self->watched_.erase(left);
    }
    return 0;
}

}  // namespace happe
