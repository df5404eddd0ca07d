// SPDX-License-Identifier: GPL-2.0-or-later
// A laptop's cpufreq in a document without personal data: profiles/schema/machine.schema.json. Tests build machines
// from such documents.
#pragma once

#include "governor/core/result.h"
#include "governor/happectl/doctor/machine.h"

#include <nlohmann/json_fwd.hpp>

namespace happe::ctl {

// Takes two seconds, during which it measures the CPUs' utilisation. An error if there is no cpufreq.
[[nodiscard]] Result<nlohmann::ordered_json> describe_machine(const Root& root);

}  // namespace happe::ctl
