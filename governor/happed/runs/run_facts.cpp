// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happed/runs/run_facts.h"

#include "governor/documents/json_document.h"
#include "governor/documents/printable.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <systemd/sd-id128.h>
#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>

namespace happe {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLongestText = 200;
constexpr std::size_t kMostTunables = 32;
constexpr std::size_t kLongestName = 64;  // of a tunable
constexpr const char* kUnknown = "unknown";

std::string cpu_model() {
    std::ifstream cpus("/proc/cpuinfo");
    for (std::string line; std::getline(cpus, line);) {
        const auto colon = line.find(": ");
        if (line.starts_with("model name") && colon != std::string::npos) {
            return line.substr(colon + 2);
        }
    }
    return {};
}

// A text that the schema accepts.
std::string text(const std::string& found) {
    return found.empty() ? kUnknown : printable(found, kLongestText - 3);
}

bool is_plain_name(std::string_view name) {
    return name.size() <= kLongestName &&
           name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string_view::npos &&
           name.find_first_of("abcdefghijklmnopqrstuvwxyz") == 0;
}

std::int64_t micros(MonoTime at) {
    return at.time_since_epoch().count();
}

// The boot's id, in the format of /proc/sys/kernel/random/boot_id.
std::string clock_name() {
    sd_id128_t boot{};
    std::array<char, SD_ID128_UUID_STRING_MAX> uuid{};
    return sd_id128_get_boot(&boot) < 0 ? kUnknown
                                        : fmt::format("monotonic:{}", sd_id128_to_uuid_string(boot, uuid.data()));
}

Json levels(const std::optional<Uafp>& profile) {
    return profile ? numbers(profile->values()) : Json();
}

Json json_of(const MachineFacts& machine) {
    Json tunables = Json::object();
    for (const auto& [name, value] : machine.tunables) {
        if (is_plain_name(name) && tunables.size() < kMostTunables) {
            tunables[name] = text(value);
        }
    }
    Json json = {{"cpu", text(machine.cpu)},   {"driver", text(machine.driver)},
                 {"backend", machine.backend}, {"governor", text(machine.governor)},
                 {"tunables", tunables},       {"kernel", text(machine.kernel)}};
    if (!machine.epp.empty()) {
        json["epp"] = text(machine.epp);
    }
    return json;
}

}  // namespace

MachineFacts look_at_machine(const Cpufreq& cpufreq, const std::string& backend) {
    utsname system{};
    ::uname(&system);
    MachineFacts machine{.cpu = cpu_model(), .backend = backend, .kernel = static_cast<const char*>(system.release)};
    const auto policies = cpufreq.policies();
    if (!policies || policies->empty()) {
        return machine;
    }
    const CpufreqPolicy& first = policies->front();
    machine.driver = first.driver;
    if (const auto settings = cpufreq.settings(first.id); settings && *settings) {
        machine.governor = (*settings)->governor;
        machine.tunables = cpufreq.tunables(first.id, machine.governor).value_or(Tunables());
        machine.epp = cpufreq.epp(first.id).value_or(std::nullopt).value_or("");
    }
    return machine;
}

void RunFacts::turned(const Turn& turn) {
    if (one_profile_ && !before_ && turn.before != nullptr) {
        before_ = *turn.before;
    }
    if (turn.decision.lesson) {
        learned_.push_back({turn.at, *turn.decision.lesson, *turn.uafp});
    }
}

void RunFacts::interrupted(MonoTime at, std::string_view reason, const std::string& detail) {
    if (lasting_ && interruptions_[*lasting_].reason == reason && interruptions_[*lasting_].detail == detail) {
        return;
    }
    resumed(at);
    if (interruptions_.size() < kMostInterruptions) {
        lasting_ = interruptions_.size();
        interruptions_.push_back({std::max(at, started_), {}, std::string(reason), detail});
    }
}

void RunFacts::resumed(MonoTime at) {
    if (lasting_) {
        interruptions_[*lasting_].until = at;
        lasting_.reset();
    }
}

void RunFacts::happened(MonoTime at, std::string_view reason, const std::string& detail) {
    const bool again = !detail.empty() && !interruptions_.empty() && interruptions_.back().detail == detail;
    if (!again && interruptions_.size() < kMostInterruptions) {
        interruptions_.push_back({std::max(at, started_), {}, std::string(reason), detail});
    }
}

std::string RunFacts::document(MonoTime ended, const std::string& version) const {
    Json document = {{"clock", clock_name()},
                     {"started_us", micros(started_)},
                     {"ended_us", micros(ended)},
                     {"profile_before", levels(before_)},
                     {"profile_after", levels(before_ && !learned_.empty() ? learned_.back().after : before_)},
                     {"learned", Json::array()},
                     {"indicator", indicator_},
                     {"machine", json_of(machine_.value_or(MachineFacts()))},
                     {"software", {{"happed", version}}}};
    for (const auto& [at, lesson, after] : learned_) {
        document["learned"].push_back(lesson_json(at, lesson, after));
    }
    if (raised_) {
        document["raised"] = true;
    }
    if (!one_profile_) {
        document["every_application"] = true;
    }
    for (const Interruption& each : interruptions_) {
        Json entry = {{"t_us", micros(each.from)}};
        if (each.until) {
            entry["until_us"] = micros(*each.until);
        }
        entry["reason"] = each.reason;
        if (!each.detail.empty()) {
            entry["detail"] = text(each.detail);
        }
        document["interruptions"].push_back(std::move(entry));
    }
    return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace happe
