// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/cpufreq/found_state.h"

#include "governor/documents/json_document.h"
#include "governor/system/file_descriptor.h"
#include "governor/system/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <cerrno>
#include <system_error>

namespace happe {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kMaxPolicies = kHighestPolicyId.value + 1U;
constexpr std::size_t kMaxTunables = 256;
constexpr std::size_t kMaxBytes = std::size_t{1} << 20U;

Khz khz(const json::Field& field) {
    return Khz{static_cast<std::uint32_t>(field.integer(1, kHighestKhz.value))};
}

CpufreqSettings found_settings(const json::Field& found) {
    static_cast<void>(found.object({"governor", "min_khz", "max_khz", "setspeed_khz", "tunables"}));
    const auto speed = found.find("setspeed_khz");
    const auto max = found.find("max_khz");
    return {.governor = found.at("governor").name(),
            .min = khz(found.at("min_khz")),
            .max = max ? khz(*max) : kNoLimit,
            .speed = speed ? std::optional(khz(*speed)) : std::nullopt};
}

FoundPolicy found_policy(const json::Field& entry) {
    static_cast<void>(entry.object({"policy", "found", "sets_governor", "epp", "caps", "unknown_max_khz"}));
    const json::Field found = entry.at("found");
    const auto governor = entry.find("sets_governor");
    const auto unknown = entry.find("unknown_max_khz");
    FoundPolicy policy{.id = {static_cast<std::uint16_t>(entry.at("policy").integer(0, kHighestPolicyId.value))},
                       .found = found_settings(found),
                       .governor = governor ? governor->name() : "",
                       .capped = entry.at("caps").boolean(),
                       .unknown_max = unknown ? std::optional(khz(*unknown)) : std::nullopt};
    if (const auto epp = entry.find("epp")) {
        static_cast<void>(epp->object({"found", "sets"}));
        policy.epp = epp->at("sets").name();
        policy.found_epp = epp->at("found").name();
    }
    for (const auto& [name, value] : found.at("tunables").members(0, kMaxTunables)) {
        policy.tunables.emplace(name, value.name());
    }
    return policy;
}

nlohmann::ordered_json document_of(const FoundPolicy& policy) {
    nlohmann::ordered_json found = {{"governor", policy.found.governor}, {"min_khz", policy.found.min.value}};
    if (policy.found.max != kNoLimit) {
        found["max_khz"] = policy.found.max.value;
    }
    if (policy.found.speed) {
        found["setspeed_khz"] = policy.found.speed->value;
    }
    found["tunables"] = policy.tunables;
    nlohmann::ordered_json entry = {{"policy", policy.id.value}, {"found", std::move(found)}};
    if (!policy.governor.empty()) {
        entry["sets_governor"] = policy.governor;
    }
    if (!policy.epp.empty()) {
        entry["epp"] = {{"found", policy.found_epp}, {"sets", policy.epp}};
    }
    entry["caps"] = policy.capped;
    if (policy.unknown_max) {
        entry["unknown_max_khz"] = policy.unknown_max->value;
    }
    return entry;
}

tl::unexpected<Error> refused(const fs::path& path, const char* doing) {
    return failure(fmt::format("{}: cannot {}: {}", path.string(), doing, std::generic_category().message(errno)));
}

}  // namespace

std::string write_found(const FoundState& state) {
    auto policies = nlohmann::ordered_json::array();
    for (const FoundPolicy& policy : state) {
        policies.push_back(document_of(policy));
    }
    const nlohmann::ordered_json whole = {{"format", "happe-found/1"}, {"policies", std::move(policies)}};
    return whole.dump() + "\n";
}

Result<FoundState> read_found(std::string_view text) try {
    const nlohmann::json parsed = json::parse(text);
    const json::Field document(parsed, "");
    static_cast<void>(document.object({"format", "policies"}));
    static_cast<void>(document.at("format").one_of({"happe-found/1"}));
    FoundState state;
    for (const json::Field& entry : document.at("policies").items(1, kMaxPolicies)) {
        state.push_back(found_policy(entry));
        if (state.size() > 1 && state[state.size() - 2].id >= state.back().id) {
            entry.at("policy").refuse("must be above the one before");
        }
    }
    return state;
} catch (const json::FieldError& error) {
    return failure(error.what());
}

Status save_found(const fs::path& path, const FoundState& state) {
    if (!state.empty()) {
        return write_file(path, write_found(state), 0600);
    }
    if (::unlink(path.c_str()) != 0) {
        return errno == ENOENT ? Status() : refused(path, "remove");
    }
    return sync_directory_of(path) ? Status() : refused(path, "sync");
}

Result<FoundState> load_found(const fs::path& path) {
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (!file) {
        return errno == ENOENT ? Result<FoundState>(FoundState()) : refused(path, "open");
    }
    const auto text = read_all(file.get(), kMaxBytes);
    if (!text) {
        return errno == EFBIG ? failure(fmt::format("{}: longer than {} bytes", path.string(), kMaxBytes))
                              : refused(path, "read");
    }
    auto state = read_found(*text);
    return state ? std::move(state) : failure(fmt::format("{}: {}", path.string(), state.error().message));
}

}  // namespace happe
