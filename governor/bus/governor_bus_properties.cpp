// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/bus/governor_bus_properties.h"

#include <type_traits>

namespace happe {
namespace {

// An array of what `append` appends for each.
template <typename Range, typename Append>
int array(sd_bus_message* reply, const char* type, const Range& range, const Append& append) {
    int status = sd_bus_message_open_container(reply, SD_BUS_TYPE_ARRAY, type);
    for (auto it = std::begin(range); status >= 0 && it != std::end(range); ++it) {
        status = append(*it);
    }
    return status < 0 ? status : sd_bus_message_close_container(reply);
}

int append_ladder(sd_bus_message* reply, const Policy& policy) {
    int status = sd_bus_message_open_container(reply, SD_BUS_TYPE_STRUCT, "qauau");
    if (status >= 0) {
        status = sd_bus_message_append(reply, "q", policy.id.value);
    }
    if (status >= 0) {
        status = array(reply, "u", policy.cpus,
                       [&](unsigned cpu) { return sd_bus_message_append(reply, "u", std::uint32_t{cpu}); });
    }
    if (status >= 0) {
        status = sd_bus_message_open_container(reply, SD_BUS_TYPE_ARRAY, "u");
    }
    for (std::size_t step = 0; status >= 0 && step < policy.ladder.size(); ++step) {
        status = sd_bus_message_append(reply, "u", policy.ladder[step].value);
    }
    if (status >= 0) {
        status = sd_bus_message_close_container(reply);
    }
    return status < 0 ? status : sd_bus_message_close_container(reply);
}

struct SettingValue {
    sd_bus_message* reply;
    int operator()(bool value) const { return sd_bus_message_append(reply, "v", "b", value ? 1 : 0); }
    int operator()(std::uint32_t value) const { return sd_bus_message_append(reply, "v", "u", value); }
    int operator()(const std::string& value) const { return sd_bus_message_append(reply, "v", "s", value.c_str()); }
    int operator()(const Calibration& value) const {
        int status = sd_bus_message_open_container(reply, SD_BUS_TYPE_VARIANT, "a{uu}");
        if (status >= 0) {
            status = array(reply, "{uu}", value, [this](const auto& entry) {
                return sd_bus_message_append(reply, "{uu}", entry.first.value, entry.second.value);
            });
        }
        return status < 0 ? status : sd_bus_message_close_container(reply);
    }
};

int append_setting(sd_bus_message* reply, std::string_view name, const OptionValue& value) {
    int status = sd_bus_message_open_container(reply, SD_BUS_TYPE_DICT_ENTRY, "sv");
    if (status >= 0) {
        status = sd_bus_message_append(reply, "s", std::string(name).c_str());
    }
    if (status >= 0) {
        status = std::visit(SettingValue{reply}, value);
    }
    return status < 0 ? status : sd_bus_message_close_container(reply);
}

}  // namespace

const char* key_name(Key key) {
    return key == Key::Performance ? "performance" : "power";
}

int append_khz(sd_bus_message* reply, const Uafp& uafp) {
    return array(reply, "u", uafp.values(), [&](Khz khz) { return sd_bus_message_append(reply, "u", khz.value); });
}

int show_version(const Shown& /*shown*/, sd_bus_message* reply) {
    return sd_bus_message_append(reply, "s", HAPPE_VERSION);
}

int show_backend(const Shown& shown, sd_bus_message* reply) {
    return sd_bus_message_append(reply, "s", shown.backend.c_str());
}

int show_ladders(const Shown& shown, sd_bus_message* reply) {
    return array(reply, "(qauau)", shown.policies, [&](const Policy& policy) { return append_ladder(reply, policy); });
}

int show_state(const Shown& shown, sd_bus_message* reply) {
    return sd_bus_message_append(reply, "s", shown.state.c_str());
}

int show_reason(const Shown& shown, sd_bus_message* reply) {
    return sd_bus_message_append(reply, "s", shown.reason.c_str());
}

int show_settings(const Shown& shown, sd_bus_message* reply) {
    return array(reply, "{sv}", shown.settings,
                 [&](const auto& setting) { return append_setting(reply, setting.first, setting.second); });
}

int show_keyboards(const Shown& shown, sd_bus_message* reply) {
    return sd_bus_message_append(reply, "u", shown.keyboards);
}

int show_holds(const Shown& shown, sd_bus_message* reply) {
    return array(reply, "(ss)", shown.holds, [&](const auto& held) {
        return sd_bus_message_append(reply, "(ss)", held.first.c_str(), held.second.c_str());
    });
}

int show_run(const Shown& shown, sd_bus_message* reply) {
    return sd_bus_message_append(reply, "s", shown.run.c_str());
}

int show_indicator(const Shown& shown, sd_bus_message* reply) {
    return sd_bus_message_append(reply, "b", shown.indicator ? 1 : 0);
}

int show_targets(const Shown& shown, sd_bus_message* reply) {
    return array(reply, "(qu)", shown.targets, [&](const Target& target) {
        return sd_bus_message_append(reply, "(qu)", target.policy.value, target.khz.value);
    });
}

int show_user(const Shown& shown, sd_bus_message* reply) {
    return sd_bus_message_append(reply, "s", shown.user.c_str());
}

int show_application(const Shown& shown, sd_bus_message* reply) {
    return sd_bus_message_append(reply, "s", shown.application.c_str());
}

int show_profile(const Shown& shown, sd_bus_message* reply) {
    return shown.profile ? append_khz(reply, *shown.profile) : sd_bus_message_append(reply, "au", 0);
}

int show_sample(const Shown& shown, sd_bus_message* reply) {
    return array(reply, "(quuy)", shown.sample, [&](const SampledPolicy& policy) {
        return sd_bus_message_append(reply, "(quuy)", policy.policy.value, policy.current.value,
                                     policy.utilisation.value, policy.level.value);
    });
}

}  // namespace happe
