// SPDX-License-Identifier: GPL-2.0-or-later
// The arguments of StartRun: docs/dbus.md, "A run".
#pragma once

#include "governor/bus/service_error.h"
#include "governor/bus/wire.h"
#include "governor/documents/run_plan.h"

#include <optional>
#include <string>

namespace happe {

// A plan that only this laptop can read, and the study and run to which it must belong.
struct SealedRun {
    std::string seal;
    std::string study;
    std::string run;  // the study server's code
};

struct RunRequest {
    RunPlan plan;  // empty if the plan is sealed
    std::optional<SealedRun> sealed;
    bool blind = true;
};

// A refusal names the wrong field.
[[nodiscard]] Answer<RunRequest> read_run_request(sd_bus_message* message);

template <>
struct wire::Type<RunRequest> {
    static std::string signature() { return "a{sv}"; }
    static bool append(sd_bus_message* message, const RunRequest& request);
};

}  // namespace happe
