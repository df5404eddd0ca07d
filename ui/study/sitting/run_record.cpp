// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/study/sitting/run_record.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

namespace happe::study {
namespace {

using Ordered = nlohmann::ordered_json;

constexpr std::size_t kPadding = 65536;
constexpr std::size_t kMostNotes = 50;

// The trace's first line, and the others.
std::pair<Ordered, Ordered> parts_of(const std::string& trace) {
    std::istringstream lines(trace);
    std::string line;
    std::getline(lines, line);
    Ordered header = Ordered::parse(line);
    Ordered observations = Ordered::array();
    while (std::getline(lines, line)) {
        observations.push_back(Ordered::parse(line));
    }
    return {std::move(header), std::move(observations)};
}

}  // namespace

std::optional<std::string> compose_record(const std::string& run, const std::string& id, const Recording& recording,
                                          const Answers& answers) try {
    Ordered record = {{"format", "happe-run/1"}, {"run", run}, {"id", id}};
    record.update(Ordered::parse(recording.facts));
    auto [header, observations] = parts_of(recording.trace);
    record["header"] = std::move(header);
    record["observations"] = std::move(observations);
    record["software"]["happe-study"] = HAPPE_VERSION;
    if (answers.rating) {
        record["rating"] = *answers.rating;
    }
    for (std::size_t i = 0; i < std::min(answers.notes.size(), kMostNotes); ++i) {
        record["notes"].push_back(answers.notes[i]);
    }
    std::string text = record.dump();
    text.resize((text.size() + kPadding - 1) / kPadding * kPadding, ' ');
    return text;
} catch (const Ordered::exception&) {
    return std::nullopt;
}

std::optional<std::int64_t> lasted_us(const Recording& recording) try {
    const Ordered facts = Ordered::parse(recording.facts);
    return facts.at("ended_us").get<std::int64_t>() - facts.at("started_us").get<std::int64_t>();
} catch (const Ordered::exception&) {
    return std::nullopt;
}

}  // namespace happe::study
