// SPDX-License-Identifier: GPL-2.0-or-later
// Reads traces: docs/traces.md, profiles/schema/trace-*.schema.json.
#pragma once

#include "governor/core/governor.h"
#include "governor/core/press_series.h"
#include "governor/core/profile_book.h"
#include "governor/core/profile_store.h"

#include <istream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace happe {

struct TraceHeader {
    Settings settings;
    bool immediate = false;
    Micros period{};
    bool sham = false;                  // presses had no effect
    std::string epp = {};               // the preference that HAPPE set on every policy; empty: none
    std::vector<PolicyLadder> ladders;  // ascending ids
    Domains domains;
    std::vector<StoredProfile> profiles;
    std::vector<std::pair<Served, Patience>>
        patience;  // for profiles, known or not; other profiles start with a new Patience
};

struct TracedPolicy {
    PolicyId id;
    std::optional<Khz> current;
    std::optional<Khz> ran;
    std::optional<Khz> limit;
    std::vector<Ppm> cpus;
};

struct TraceObservation {
    MonoTime at;
    std::optional<Served> served;
    std::vector<TracedPolicy> policies;  // ascending ids
    std::optional<PowerSource> source;   // of the laptop's power
    std::vector<Press> presses;
    bool power_saver = false;
    bool present = false;
    Micros idle{0};
    Ppm front{0};
};

class TraceReader {
public:
    // Errors call the stream `name`. The constructor reads nothing.
    TraceReader(std::istream& stream, std::string name);

    // Call header() once, then next() until it returns nothing. An error says "NAME:LINE: FIELD: message".
    Result<TraceHeader> header();
    Result<std::optional<TraceObservation>> next();

private:
    bool read_line();
    [[nodiscard]] tl::unexpected<Error> here(const std::string& message) const;

    std::istream& stream_;
    std::string name_;
    std::string line_;
    std::size_t number_ = 0;
    std::vector<PolicyId> known_;
    std::optional<MonoTime> last_;
    std::optional<MonoTime> last_performance_;
    std::optional<MonoTime> last_power_;
};

}  // namespace happe
