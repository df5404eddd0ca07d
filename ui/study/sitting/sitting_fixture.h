// SPDX-License-Identifier: GPL-2.0-or-later
// A server's answer with a sitting of three runs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace happe::study {

inline nlohmann::json told_run(const std::string& code, const std::string& application, const std::string& state) {
    return {{"code", code},
            {"position", 1},
            {"application", application},
            {"name", "Torcs, a car race"},
            {"command", {"torcs", "-s"}},
            {"cpu", 0},
            {"seconds", 120},
            {"practice_seconds", 0},
            {"phase", "main"},
            {"state", state}};
}

inline nlohmann::json told_sitting(const std::vector<std::string>& states = {"planned", "planned", "planned"}) {
    nlohmann::json told = {
        {"participant", "4HT2XC0N"},
        {"study", "paper-a3"},
        {"title", "How a computer's speed is controlled"},
        {"handout_read", true},
        {"rating",
         {{"question", "How was it?"},
          {"lowest", 1},
          {"highest", 5},
          {"lowest_label", "least"},
          {"highest_label", "most"}}},
        {"guess", {{"question", "What was it?"}, {"choices", {{{"key", "usual"}, {"text", "The usual control"}}}}}},
        {"runs", nlohmann::json::array()}};
    for (std::size_t i = 0; i < states.size(); ++i) {
        told["runs"].push_back(told_run("RUN0000" + std::to_string(i), "torcs", states[i]));
    }
    return told;
}

}  // namespace happe::study
