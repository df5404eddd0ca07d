// SPDX-License-Identifier: GPL-2.0-or-later
// Any bytes as a trace: an error or decisions, each a line of JSON, never a UAFP that descends.
#include "governor/sim/replay.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::istringstream trace(std::string(data, data + size));
    std::stringstream decisions;
    static_cast<void>(happe::replay(trace, "fuzz", decisions));
    for (std::string line; std::getline(decisions, line);) {
        const auto decision = nlohmann::json::parse(line);
        if (decision.contains("learned") && !std::ranges::is_sorted(decision["learned"]["uafp_khz"])) {
            std::abort();
        }
    }
    return 0;
}
