// SPDX-License-Identifier: GPL-2.0-or-later
// The parameters of simulated participants and applications, as JSON: governor/sim/fitted.json and others like it.
#pragma once

#include "governor/core/result.h"
#include "governor/sim/participant.h"

#include <string>
#include <string_view>
#include <vector>

namespace happe {

struct Participants {
    std::string provenance;  // the origin of the numbers, printed with all results
    sim::PersonParameters people;
    std::vector<sim::ApplicationParameters> applications;
};

Result<Participants> read_participants(std::string_view text);

// The parameters fitted to the paper, embedded in the program.
const Participants& fitted_participants();

}  // namespace happe
