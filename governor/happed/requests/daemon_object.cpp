// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happed/requests/daemon_object.h"

#include "governor/happed/requests/bus_call.h"

#include <fmt/format.h>
#include <iterator>
#include <utility>

namespace happe {
namespace {

std::uint32_t flags_of(Announced announced) {
    switch (announced) {
        case Announced::Never:
            return SD_BUS_VTABLE_PROPERTY_CONST;
        case Announced::WithValue:
            return SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE;
        case Announced::PrivateWithoutValue:
            return SD_BUS_VTABLE_PROPERTY_EMITS_INVALIDATION;
        case Announced::PrivateNever:
            return 0;
    }
    return 0;
}

template <typename Member>
using ValueOf = std::remove_cvref_t<decltype(std::declval<Properties>().*std::declval<Member>())>;

// A private property is empty for callers who must not see it.
template <auto Member, bool Private>
int on_get(sd_bus* bus, const char* /*path*/, const char* /*interface*/, const char* /*property*/,
           sd_bus_message* reply, void* data, sd_bus_error* /*error*/) {
    auto* const self = static_cast<DaemonObject*>(data);
    const bool shown = !Private || self->may_see_private(sd_bus_get_current_message(bus));
    using Value = ValueOf<decltype(Member)>;
    return wire::Type<Value>::append(reply, shown ? self->shown().*Member : Value{}) ? 0 : -EINVAL;
}

template <auto Member>
sd_bus_vtable property_entry(const Property<Member>& property) {
    static const std::string signature = wire::Type<ValueOf<decltype(Member)>>::signature();
    return SD_BUS_PROPERTY(property.name, signature.c_str(),
                           (property.is_private() ? on_get<Member, true> : on_get<Member, false>), 0,
                           flags_of(property.announced));
}

// profiles/org.happe.Governor1.xml, as sd-bus's table.
std::vector<sd_bus_vtable> interface_table() {
    std::vector<sd_bus_vtable> table = method_entries();
    table.insert(table.begin(), SD_BUS_VTABLE_START(0));
    std::apply([&](const auto&... property) { (table.push_back(property_entry(property)), ...); }, kDaemonProperties);
    table.push_back(SD_BUS_SIGNAL_WITH_ARGS("KeyCounted", SD_BUS_ARGS("s", key), 0));
    table.push_back(SD_BUS_VTABLE_END);
    return table;
}

// Announces the properties of `now` that differ from the announced ones. During a blind run it announces no private
// property: the time of its change would reveal something about the run.
template <typename Wanted>
void announce(sd_bus* bus, Properties& announced, const Properties& now, const Wanted& wanted) {
    std::vector<char*> names;
    const auto look_at = [&](const auto& property) {
        constexpr auto kMember = std::remove_cvref_t<decltype(property)>::kMember;
        if (wanted(property.announced) && announced.*kMember != now.*kMember) {
            announced.*kMember = now.*kMember;
            // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): sd-bus takes char**, and only reads
            names.push_back(const_cast<char*>(property.name));
        }
    };
    std::apply([&](const auto&... property) { (look_at(property), ...); }, kDaemonProperties);
    if (!names.empty()) {
        names.push_back(nullptr);
        sd_bus_emit_properties_changed_strv(bus, kDaemonPath, kDaemonName, names.data());
    }
}

}  // namespace

DaemonObject::DaemonObject(sd_bus* bus, Requests requests, const Shown& shown,
                           std::function<void(const std::string&)> left)
    : bus_(bus),
      requests_(std::move(requests)),
      shown_(shown),
      announced_(static_cast<const Properties&>(shown)),
      polkit_(bus),
      callers_(bus, std::move(left)) {}

Status DaemonObject::start() {
    table_ = interface_table();
    int status = bus::take(slot_, [this](sd_bus_slot** raw) {
        return sd_bus_add_object_vtable(bus_, raw, kDaemonPath, kDaemonName, table_.data(), this);
    });
    if (status >= 0) {
        status = sd_bus_request_name(bus_, kDaemonName, 0);
    }
    if (status == -EEXIST) {
        return failure(fmt::format("{} is taken on the bus: another happed runs", kDaemonName));
    }
    if (status < 0) {
        return failure(
            fmt::format("cannot take the name {} on the bus: {}", kDaemonName, bus::error_of(status).message));
    }
    return {};
}

void DaemonObject::changed() {
    announce(bus_, announced_, shown_, [this](Announced how) {
        return how == Announced::WithValue || (how == Announced::PrivateWithoutValue && !shown_.blind);
    });
}

void DaemonObject::turned() {
    announce(bus_, announced_, shown_,
             [this](Announced how) { return how == Announced::PrivateWithoutValue && !shown_.blind; });
}

void DaemonObject::key_counted(Key key) {
    sd_bus_emit_signal(bus_, kDaemonPath, kDaemonName, "KeyCounted", "s", name_of(key));
}

bool DaemonObject::may_see_private(sd_bus_message* message) {
    const Caller* const who = message != nullptr ? caller(message) : nullptr;
    if (who == nullptr) {
        return false;
    }
    if (shown_.blind) {
        return who->bus_name == shown_.run_viewer;
    }
    return who->uid == 0 || who->uid == shown_.served_uid;
}

bool DaemonObject::may_see_profiles(const Caller& caller, const std::string& user) const {
    return !shown_.blind || shown_.run_viewer == caller.bus_name || !shown_.is_run_subject(user);
}

}  // namespace happe
