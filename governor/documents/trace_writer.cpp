// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/documents/trace_writer.h"

#include "governor/documents/json_values.h"

#include <nlohmann/json.hpp>

namespace happe {
namespace {

using Json = nlohmann::ordered_json;

// Bytes that are no UTF-8 (a file name may hold any) become U+FFFD.
std::string line(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

Json calibrated(const TraceHeader& header) {
    auto result = Json::object();
    for (const auto& [id, ladder] : header.ladders) {
        std::vector<Khz> speeds = ladder.khz();
        for (Khz& khz : speeds) {
            khz = ladder.speed(khz);
        }
        if (speeds != ladder.khz()) {
            result[std::to_string(id.value)] = numbers(speeds);
        }
    }
    return result;
}

}  // namespace

std::string header_line(const TraceHeader& header) {
    const bool extended = header.settings != Settings{};
    auto ladders = Json::object();
    for (const auto& [id, ladder] : header.ladders) {
        ladders[std::to_string(id.value)] = numbers(ladder.khz());
    }
    auto profiles = Json::array();
    for (const auto& [whom, uafp] : header.profiles) {
        profiles.push_back({{"user", whom.user}, {"app", whom.app}, {"khz", numbers(uafp.values())}});
    }
    Json json = {{"format", "happe-trace/1"},
                 {"mode", extended ? "extended" : "paper"},
                 {"feedback", header.immediate ? "immediate" : "next-sample"},
                 {"period_us", header.period.count()},
                 {"ladders_khz", ladders},
                 {"uafp", profiles}};
    if (header.sham) {
        json["keys"] = "sham";
    }
    if (auto speeds = calibrated(header); !speeds.empty()) {
        json["calibrated_khz"] = std::move(speeds);
    }
    if (extended) {
        json["settings"] = {{"hysteresis_ppm", header.settings.hysteresis.value},
                            {"fixed_point", header.settings.fixed_point},
                            {"warm_start", header.settings.warm_start}};
    }
    return line(json);
}

std::string observation_line(const Turn& turn) {
    auto policies = Json::array();
    for (const auto& [sample, cpus] : turn.policies) {
        Json policy = {{"id", sample.id.value}};
        if (sample.current) {
            policy["cur_khz"] = sample.current->value;
        }
        policy["util_ppm"] = numbers(cpus);
        policies.push_back(std::move(policy));
    }
    auto keys = Json::array();
    for (const Press& press : turn.presses) {
        keys.push_back({{"t_us", press.at.time_since_epoch().count()}, {"key", name_of(press.key)}});
    }
    return line({{"t_us", turn.at.time_since_epoch().count()},
                 {"user", turn.served != nullptr ? Json(turn.served->user) : Json(nullptr)},
                 {"app", turn.served != nullptr ? Json(turn.served->app) : Json(nullptr)},
                 {"policies", policies},
                 {"keys", keys}});
}

std::string decision_line(const Turn& turn) {
    Json json = {{"t_us", turn.at.time_since_epoch().count()}};
    if (turn.decision.released) {
        json["released"] = true;
        return line(json);
    }
    json["targets"] = Json::array();
    for (const Target& target : turn.decision.targets) {
        json["targets"].push_back({{"policy", target.policy.value}, {"khz", target.khz.value}});
    }
    if (const auto& lesson = turn.decision.lesson) {
        json["learned"] = {{"user", turn.served->user},
                           {"app", turn.served->app},
                           {"level", lesson->level.value},
                           {"khz", lesson->to.value},
                           {"uafp_khz", numbers(turn.uafp->values())}};
    }
    return line(json);
}

}  // namespace happe
