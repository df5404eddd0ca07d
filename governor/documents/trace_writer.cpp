// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/documents/trace_writer.h"

#include "governor/documents/json_document.h"

#include <nlohmann/json.hpp>

namespace happe {
namespace {

using Json = nlohmann::ordered_json;

// Bytes that are not UTF-8 (a file name may have any) become U+FFFD.
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

Json domains(const TraceHeader& header) {
    auto result = Json::array();
    for (const std::vector<PolicyId>& domain : header.domains) {
        auto& ids = result.emplace_back(Json::array());
        for (const PolicyId policy : domain) {
            ids.push_back(policy.value);
        }
    }
    return result;
}

Json targets(const Decision& decision) {
    auto result = Json::array();
    for (const Target& target : decision.targets) {
        result.push_back({{"policy", target.policy.value}, {"khz", target.khz.value}});
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
    if (!header.domains.empty() && header.domains.size() < header.ladders.size()) {  // otherwise each policy is one
        json["domains"] = domains(header);
    }
    if (header.sham) {
        json["keys"] = "sham";
    }
    if (!header.epp.empty()) {
        json["epp"] = header.epp;
    }
    if (auto speeds = calibrated(header); !speeds.empty()) {
        json["calibrated_khz"] = std::move(speeds);
    }
    if (extended) {
        json["settings"] = {{"warm_start", header.settings.warm_start},
                            {"middle_start", header.settings.middle_start},
                            {"hold", header.settings.hold},
                            {"descent", header.settings.descent},
                            {"felt", header.settings.felt},
                            {"floor_khz", header.settings.floor.value},
                            {"begin_low", header.settings.begin_low},
                            {"silent_top", header.settings.silent_top},
                            {"start_percent", header.settings.start_percent},
                            {"hold_us", header.settings.hold_time.count()},
                            {"faster_part", header.settings.faster_part},
                            {"again_us", header.settings.again.count()},
                            {"refused_part", header.settings.refused_part}};
    }
    for (const auto& [whom, patience] : header.patience) {
        json["patience"].push_back({{"user", whom.user},
                                    {"app", whom.app},
                                    {"wait_us", patience.wait.count()},
                                    {"quiet_us", patience.quiet.count()}});
    }
    return line(json);
}

std::string observation_line(const Turn& turn, std::optional<PowerSource> source) {
    auto policies = Json::array();
    for (const auto& [id, current, ran, limit, cpus] : turn.policies) {
        Json policy = {{"id", id.value}};
        if (current) {
            policy["cur_khz"] = current->value;
        }
        if (ran) {
            policy["ran_khz"] = ran->value;
        }
        if (limit) {
            policy["limit_khz"] = limit->value;
        }
        policy["util_ppm"] = numbers(cpus);
        policies.push_back(std::move(policy));
    }
    auto keys = Json::array();
    for (const Press& press : turn.presses) {
        keys.push_back({{"t_us", press.at.time_since_epoch().count()}, {"key", name_of(press.key)}});
    }
    Json json = {{"t_us", turn.at.time_since_epoch().count()},
                 {"user", turn.served != nullptr ? Json(turn.served->user) : Json(nullptr)},
                 {"app", turn.served != nullptr ? Json(turn.served->app) : Json(nullptr)},
                 {"policies", policies},
                 {"keys", keys},
                 {"targets", targets(turn.decision)}};
    if (turn.power_saver) {
        json["power_saver"] = true;
    }
    if (source) {
        json["source"] = name_of(*source);
    }
    if (turn.present) {
        json["present"] = true;
    }
    if (turn.present && turn.idle > Micros{0}) {
        json["idle_us"] = turn.idle.count();
    }
    if (turn.present && turn.front > Ppm{0}) {
        json["front_ppm"] = turn.front.value;
    }
    return line(json);
}

std::string decision_line(const Turn& turn) {
    Json json = {{"t_us", turn.at.time_since_epoch().count()}};
    if (turn.decision.released) {
        json["released"] = true;
        return line(json);
    }
    json["targets"] = targets(turn.decision);
    if (const auto& lesson = turn.decision.lesson) {
        json["learned"] = {{"user", turn.served->user},
                           {"app", turn.served->app},
                           {"level", lesson->level.value},
                           {"khz", lesson->to.value},
                           {"uafp_khz", numbers(turn.uafp->values())}};
    }
    if (turn.decision.probe) {
        json["probe"] = name_of(*turn.decision.probe);
    }
    return line(json);
}

}  // namespace happe
