// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happectl/doctor/bundle.h"

#include "governor/documents/printable.h"
#include "governor/system/proc_stat.h"

#include <sys/utsname.h>
#include <algorithm>
#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

namespace happe::ctl {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// happectl reads only these files. None names the machine or its owner, or has a serial number.
constexpr std::array kOfPolicy = {
    "affected_cpus",
    "related_cpus",
    "scaling_driver",
    "scaling_available_governors",
    "scaling_available_frequencies",
    "scaling_boost_frequencies",
    "cpuinfo_min_freq",
    "cpuinfo_max_freq",
    "cpuinfo_transition_latency",
    "base_frequency",
    "bios_limit",
    "scaling_governor",
    "scaling_min_freq",
    "scaling_max_freq",
    "scaling_setspeed",
    "energy_performance_preference",
    "energy_performance_available_preferences",
};
constexpr std::array kOfCpus = {
    "present",
    "online",
    "cpufreq/boost",
    "intel_pstate/status",
    "intel_pstate/no_turbo",
    "intel_pstate/min_perf_pct",
    "intel_pstate/max_perf_pct",
    "intel_pstate/hwp_dynamic_boost",
    "amd_pstate/status",
    "amd_pstate/prefcore",
    "smt/active",
};
constexpr std::array kTopology = {"core_id", "physical_package_id", "die_id", "cluster_id"};
constexpr std::array kKinds = {"cpu_core", "cpu_atom"};  // the fast and the small CPUs of a hybrid machine

constexpr std::size_t kLongestLine = 1024;
constexpr int kSamples = 10;
constexpr std::chrono::milliseconds kBetweenSamples{200};

// A file's line, if it has only the short plain words and numbers that drivers write.
std::optional<std::string> plain_line(const fs::path& file) {
    constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-,.<>";
    const std::string line = read_line(file);
    const bool plain =
        !line.empty() && line.size() <= kLongestLine && line.find_first_not_of(kPlain) == std::string::npos;
    return plain ? std::optional(line) : std::nullopt;
}

template <std::size_t Count>
Json lines_of(const fs::path& folder, const std::array<const char*, Count>& files) {
    Json lines = Json::object();
    for (const char* const file : files) {
        if (const auto line = plain_line(folder / file)) {
            lines[file] = *line;
        }
    }
    return lines;
}

// Groups policies whose files have the same content, so that the document lists each group once.
Json policies_of(const fs::path& cpus, const std::vector<PolicyFound>& found) {
    std::vector<std::pair<Json, std::vector<std::uint32_t>>> groups;
    for (const PolicyFound& policy : found) {
        const std::string number = std::to_string(policy.policy);
        Json files = lines_of(cpus / "cpufreq" / ("policy" + number), kOfPolicy);
        if (files.value("affected_cpus", "") == number && files.value("related_cpus", "") == number) {
            files.erase("affected_cpus");
            files.erase("related_cpus");
        }
        const auto same = std::ranges::find(groups, files, &std::pair<Json, std::vector<std::uint32_t>>::first);
        if (same == groups.end()) {
            groups.push_back({std::move(files), {policy.policy}});
        } else {
            same->second.push_back(policy.policy);
        }
    }
    Json policies = Json::array();
    for (const auto& [files, numbers] : groups) {
        policies.push_back({{"policies", number_list(numbers)}, {"files", files}});
    }
    return policies;
}

Json topology_of(const fs::path& cpus) {
    Json topology = Json::object();
    for (const char* const what : kTopology) {
        Json of_each = Json::array();
        for (unsigned cpu = 0; cpu <= ProcStat::kHighestCpu && fs::exists(cpus / ("cpu" + std::to_string(cpu)));
             ++cpu) {
            const auto line = plain_line(cpus / ("cpu" + std::to_string(cpu)) / "topology" / what);
            of_each.push_back(line ? Json(*line) : Json());
        }
        const bool known = std::ranges::any_of(of_each, [](const Json& value) { return !value.is_null(); });
        if (known) {
            topology[what] = std::move(of_each);
        }
    }
    return topology;
}

Json kinds_of(const fs::path& devices) {
    Json kinds = Json::object();
    for (const char* const kind : kKinds) {
        if (const auto cpus = plain_line(devices / kind / "cpus")) {
            kinds[kind] = *cpus;
        }
    }
    return kinds;
}

// Only the numbers, "6.1.0" of "6.1.0-18-amd64", because the builder of a kernel may give it any name.
std::string kernel_version() {
    utsname system{};
    ::uname(&system);
    const std::string release = static_cast<const char*>(system.release);
    return release.substr(0, release.find_first_not_of("0123456789."));
}

Json utilisation_of(const fs::path& stat) {
    ProcStat source(stat);
    Json samples = Json::array();
    static_cast<void>(source.sample());
    for (int i = 0; i < kSamples; ++i) {
        std::this_thread::sleep_for(kBetweenSamples);
        const auto sample = source.sample();
        if (!sample) {
            return {};
        }
        Json cpus = Json::array();
        for (const auto& share : *sample) {
            cpus.push_back(share ? Json(share->value) : Json());
        }
        samples.push_back(std::move(cpus));
    }
    return {{"period_us", Micros(kBetweenSamples).count()}, {"cpus_ppm", std::move(samples)}};
}

}  // namespace

Result<Json> describe_machine(const Root& root) {
    const fs::path devices = root / "sys/devices";
    const fs::path cpus = devices / "system/cpu";
    const std::vector<PolicyFound> found = find_policies(root);
    if (found.empty()) {
        return failure("the kernel scales no frequency here: there is nothing to describe");
    }
    Json machine = {{"format", "happe-machine/1"},         {"kernel", kernel_version()},
                    {"settings", lines_of(cpus, kOfCpus)}, {"kinds", kinds_of(devices)},
                    {"topology", topology_of(cpus)},       {"policies", policies_of(cpus, found)}};
    if (Json utilisation = utilisation_of(root / "proc/stat"); !utilisation.is_null()) {
        machine["utilisation"] = std::move(utilisation);
    }
    return machine;
}

}  // namespace happe::ctl
