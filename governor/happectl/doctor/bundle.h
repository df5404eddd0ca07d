// SPDX-License-Identifier: GPL-2.0-or-later
// A laptop's cpufreq in one document that holds nothing of its owner: profiles/schema/machine.schema.json. Tests make
// machines of such documents.
#pragma once

#include "governor/core/result.h"
#include "governor/happectl/doctor/machine.h"

#include <nlohmann/json_fwd.hpp>

namespace happe::ctl {

// Takes two seconds, of which it records the CPUs' utilisation. An error where there is no cpufreq.
[[nodiscard]] Result<nlohmann::ordered_json> describe_machine(const Root& root);

}  // namespace happe::ctl
