// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/bus/power_profiles.h"

#include <algorithm>
#include <utility>

namespace happe {
namespace {

constexpr const char* kPropertiesInterface = "org.freedesktop.DBus.Properties";
constexpr const char* kUnknown = "unknown";

struct Face {
    const char* name;  // on the bus, and of the interface
    const char* path;
};
constexpr std::array kFaces{Face{"org.freedesktop.UPower.PowerProfiles", "/org/freedesktop/UPower/PowerProfiles"},
                            Face{"net.hadess.PowerProfiles", "/net/hadess/PowerProfiles"}};

// True if no program has the name.
bool is_absent(sd_bus_message* answer) {
    return sd_bus_message_is_method_error(answer, SD_BUS_ERROR_SERVICE_UNKNOWN) > 0 ||
           sd_bus_message_is_method_error(answer, SD_BUS_ERROR_NAME_HAS_NO_OWNER) > 0;
}

}  // namespace

bool PowerProfiles::has_daemon(sd_bus* bus) {
    return std::ranges::any_of(kFaces, [bus](const Face& face) { return bus::find_owner(bus, face.name) >= 0; });
}

PowerProfiles::PowerProfiles(sd_bus* bus, std::function<void()> changed)
    : bus_(bus), changed_(std::move(changed)), has_daemon_(has_daemon(bus)), active_(has_daemon_ ? kUnknown : "") {}

Status PowerProfiles::start() {
    for (std::size_t face = 0; face < kFaces.size(); ++face) {
        const auto& [name, path] = kFaces.at(face);
        const std::string change = bus::property_changes(name, path);
        for (const int status : {bus::watch(watches_.at(2 * face), bus_, bus::owner_changes(name), on_signal, this),
                                 bus::watch(watches_.at((2 * face) + 1), bus_, change, on_signal, this)}) {
            if (status < 0) {
                return tl::unexpected<Error>(bus::error_of(status));
            }
        }
    }
    ask(0);
    return {};
}

// A newer question destroys the slot of an older one, and with it the answer.
void PowerProfiles::ask(std::size_t name) {
    asked_ = name;
    bus::Message get;
    bus::take(get, [&](sd_bus_message** raw) {
        const Face& face = kFaces.at(name);
        return sd_bus_message_new_method_call(bus_, raw, face.name, face.path, kPropertiesInterface, "Get");
    });
    if (get && sd_bus_message_append(get.get(), "ss", kFaces.at(name).name, "ActiveProfile") >= 0) {
        sd_bus_message_set_auto_start(get.get(), 0);
        bus::take(question_,
                  [&](sd_bus_slot** raw) { return sd_bus_call_async(bus_, raw, get.get(), on_profile, this, 0); });
    }
}

void PowerProfiles::become(bool has_daemon, std::string active) {
    if (has_daemon != has_daemon_ || active != active_) {
        has_daemon_ = has_daemon;
        active_ = std::move(active);
        changed_();
    }
}

int PowerProfiles::on_signal(sd_bus_message* /*message*/, void* self, sd_bus_error* /*error*/) {
    static_cast<PowerProfiles*>(self)->ask(0);
    return 0;
}

int PowerProfiles::on_profile(sd_bus_message* answer, void* data, sd_bus_error* /*error*/) {
    auto* const self = static_cast<PowerProfiles*>(data);
    const char* active = nullptr;
    if (!is_absent(answer)) {
        const bool told =
            sd_bus_message_is_method_error(answer, nullptr) == 0 && sd_bus_message_read(answer, "v", "s", &active) >= 0;
        self->become(true, told ? active : kUnknown);
    } else if (self->asked_ + 1 < kFaces.size()) {
        self->ask(self->asked_ + 1);
    } else {
        self->become(false, "");
    }
    return 0;
}

}  // namespace happe
