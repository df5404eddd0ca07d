// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/documents/json_values.h"

namespace happe {

nlohmann::ordered_json lesson_json(MonoTime at, const Lesson& lesson) {
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
