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
nlohmann::ordered_json lesson_json(MonoTime at, const Lesson& lesson);

}  // namespace happe
