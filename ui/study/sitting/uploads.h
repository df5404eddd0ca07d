// SPDX-License-Identifier: GPL-2.0-or-later
// The laptop's uploads to the server, which the journal keeps until the server has them. Each has a fixed id, so that
// the laptop may send it again. docs/uploads.md.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace happe::study {

struct Upload {
    std::int64_t number = 0;  // ascending, from the journal; 0: not in the journal yet
    std::string about;        // a run's code, or "clock"
    std::string method;       // PUT or POST
    std::string path;         // below /api/v1/
    std::string body;         // the bytes to send each time
};

using Probe = std::array<std::int64_t, 4>;  // t0 to t3, microseconds

[[nodiscard]] Upload end_of(const std::string& run);
[[nodiscard]] Upload rating_of(const std::string& run, const std::string& id, int rating);
[[nodiscard]] Upload guess_of(const std::string& run, const std::string& id, const std::string& choice);
[[nodiscard]] Upload record_of(const std::string& run, const std::string& id, const std::string& record);
[[nodiscard]] Upload abortion_of(const std::string& run, const std::string& reason);
[[nodiscard]] Upload clock_of(const std::string& id, const std::string& boot, const std::vector<Probe>& probes);

}  // namespace happe::study
