// SPDX-License-Identifier: GPL-2.0-or-later
// Values that several of the contract's documents share.
#pragma once

#include "governor/core/governor.h"

#include <nlohmann/json.hpp>

namespace happe {

// An array of the numbers of units: kHz, ppm.
template <typename Values>
nlohmann::ordered_json numbers(const Values& values) {
    auto array = nlohmann::ordered_json::array();
    for (const auto& unit : values) {
        array.push_back(unit.value);
    }
    return array;
}

// A lesson as in profiles/schema/run-record.schema.json.
inline nlohmann::ordered_json lesson_json(MonoTime at, const Lesson& lesson) {
    nlohmann::ordered_json json = {{"t_us", at.time_since_epoch().count()}, {"key", name_of(lesson.key)},
                                   {"policy", lesson.policy.value},         {"level", lesson.level.value},
                                   {"from_khz", lesson.from.value},         {"to_khz", lesson.to.value},
                                   {"cur_khz", lesson.current.value},       {"util_ppm", lesson.utilisation.value}};
    if (lesson.probe) {
        json["probe"] = true;
    }
    return json;
}

}  // namespace happe
