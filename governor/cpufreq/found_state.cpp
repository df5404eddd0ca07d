// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/cpufreq/found_state.h"
#include "governor/documents/json_document.h"
#include "governor/system/file_descriptor.h"
#include "governor/system/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <algorithm>
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

namespace {

// A tunable may depend on another one (conservative's two thresholds), so we try refused ones again after the others.
Status give_back_tunables(const FoundPolicy& policy, Cpufreq& cpufreq) {
    Status status;
    for (int turn = 0; turn < 2; ++turn) {
        const auto now = cpufreq.tunables(policy.id, policy.found.governor);
        if (!now) {
            return tl::unexpected<Error>(now.error());
        }
        status = Status();
        for (const auto& [name, value] : policy.tunables) {
            const auto present = now->find(name);
            if (present != now->end() && present->second != value) {
                const Status written = cpufreq.set_tunable(policy.id, policy.found.governor, name, value);
                status = status ? written : status;
            }
        }
    }
    return status;
}

Status give_back_governor(const FoundPolicy& policy, const CpufreqSettings& now, Cpufreq& cpufreq) {
    Status status;
    if (now.governor != policy.found.governor) {
        status = cpufreq.set_governor(policy.id, policy.found.governor);
    }
    if (status && policy.found.speed && now.speed != policy.found.speed) {
        status = cpufreq.set_frequency(policy.id, Cpufreq::Frequency::Speed, *policy.found.speed);
    }
    return status ? give_back_tunables(policy, cpufreq) : status;
}

// The newest limit by others. If we do not know who set a limit, we treat it as a program's: people notice a limit that
// is too low, but not a lost limit.
Khz newest_max(const FoundPolicy& policy, Khz now, const Cpufreq& cpufreq) {
    if (!policy.unknown_max) {
        return policy.found.max;
    }
    const Khz unknown = *policy.unknown_max;
    const bool is_the_kernels =
        unknown < policy.found.max && (now == unknown || now > probe_of(unknown, policy.id, cpufreq));
    return is_the_kernels ? policy.found.max : unknown;
}

// A kernel that refuses kNoLimit gets its highest frequency.
Status set_max(PolicyId policy, Khz max, Cpufreq& cpufreq) {
    const Status set = cpufreq.set_frequency(policy, Cpufreq::Frequency::Max, max);
    const auto now = set || max != kNoLimit ? std::nullopt : cpufreq.policy(policy).value_or(std::nullopt);
    return now ? cpufreq.set_frequency(policy, Cpufreq::Frequency::Max, now->highest) : set;
}

// Limits come first, because a governor starts within them.
Status give_back_settings(const FoundPolicy& policy, const CpufreqSettings& now, Cpufreq& cpufreq) {
    Status status;
    if (const Khz newest = newest_max(policy, now.max, cpufreq); policy.capped && now.max != newest) {
        status = set_max(policy.id, newest, cpufreq);
    }
    return status && !policy.governor.empty() ? give_back_governor(policy, now, cpufreq) : status;
}

// If the file still shows less than the original limit, another program or the kernel has set that limit, in place of
// ours.
Status check(const FoundPolicy& policy, const CpufreqSettings& after) {
    if (policy.governor.empty() || after.governor == policy.found.governor) {
        return {};
    }
    return failure(fmt::format("policy{}: scaling_governor is still \"{}\" after \"{}\" was written", policy.id.value,
                               after.governor, policy.found.governor));
}

// True unless HAPPE's preference is left. Happens even if other parts of the policy fail. Later changes by other
// programs stay. While a driver's own governor is performance, the file shows that, and the driver sets the preference
// from before again when another governor comes (intel_pstate_hwp_set() in drivers/cpufreq/intel_pstate.c).
Result<bool> give_back_epp(const FoundPolicy& policy, const CpufreqSettings& now, Cpufreq& cpufreq) {
    if (policy.epp.empty() || policy.epp == policy.found_epp) {
        return true;
    }
    return cpufreq.epp(policy.id).and_then([&](const std::optional<std::string>& shown) -> Result<bool> {
        if (shown == policy.epp) {
            return cpufreq.set_epp(policy.id, policy.found_epp).map([] { return true; });
        }
        return policy.governor.empty() && shown == "performance" && now.governor == "performance" ? false : true;
    });
}

// True if this has restored everything. Else `policy` is what is left.
Result<bool> give_back(FoundPolicy& policy, Cpufreq& cpufreq) {
    const auto before = cpufreq.settings(policy.id);
    if (!before) {
        return tl::unexpected<Error>(before.error());
    }
    if (!*before) {
        return false;
    }
    const Result<bool> epp = give_back_epp(policy, **before, cpufreq);
    const bool ours = is_ours(policy, **before, cpufreq);
    const Status written = ours ? give_back_settings(policy, **before, cpufreq) : Status();
    const auto after = cpufreq.settings(policy.id);
    if (after && !*after) {
        return false;  // the policy went off line meanwhile
    }
    if (!written || !after) {
        return tl::unexpected<Error>(written ? after.error() : written.error());
    }
    if (const Status checked = ours ? check(policy, **after) : Status(); !checked) {
        return tl::unexpected<Error>(checked.error());
    }
    policy.governor.clear();
    policy.capped = false;
    return epp;
}

// True if the file shows the limit whose origin is unknown.
bool shows_unknown(const FoundPolicy& policy, const Cpufreq& cpufreq) {
    if (!policy.capped || !policy.unknown_max || *policy.unknown_max >= policy.found.max) {
        return false;
    }
    const auto now = cpufreq.frequency(policy.id, Cpufreq::Frequency::Max);
    return now && *now == policy.unknown_max;
}

// Probes all such policies at once and waits for the answers. If a policy still shows its limit afterwards, the limit
// is the kernel's.
void probe(const FoundState& state, Cpufreq& cpufreq) {
    constexpr int kMostWaits = 10;
    FoundState asked;
    for (const FoundPolicy& policy : state) {
        if (shows_unknown(policy, cpufreq) &&
            cpufreq.set_frequency(policy.id, Cpufreq::Frequency::Max,
                                  probe_of(*policy.unknown_max, policy.id, cpufreq))) {
            asked.push_back(policy);
        }
    }
    for (int wait = 0; wait < kMostWaits && !asked.empty(); ++wait) {
        cpufreq.wait_for_maximum();
        std::erase_if(asked, [&](const FoundPolicy& policy) { return !shows_unknown(policy, cpufreq); });
    }
}

}  // namespace

Khz probe_of(Khz limit, PolicyId policy, const Cpufreq& cpufreq) {
    const std::vector<Khz> table = cpufreq.table(policy);
    const auto above = std::ranges::upper_bound(table, limit);
    return above == table.end() ? Khz{limit.value + 1} : *above;
}

bool is_ours(const FoundPolicy& policy, const CpufreqSettings& now, const Cpufreq& cpufreq) {
    const Khz most =
        std::max(policy.found.max, policy.unknown_max ? probe_of(*policy.unknown_max, policy.id, cpufreq) : Khz{});
    const bool set = policy.capped || !policy.governor.empty();
    return set && (policy.governor.empty() || now.governor == policy.governor) && (!policy.capped || now.max <= most);
}

Status give_back(FoundState& state, Cpufreq& cpufreq) {
    probe(state, cpufreq);
    FoundState left;
    std::string errors;
    const bool capped = std::ranges::any_of(state, &FoundPolicy::capped);
    for (FoundPolicy& policy : state) {
        const auto gone = give_back(policy, cpufreq);
        if (!gone) {
            errors += (errors.empty() ? "" : "; ") + gone.error().message;
        }
        if (!gone || !*gone) {
            left.push_back(policy);
        }
    }
    if (capped) {
        cpufreq
            .wait_for_maximum();  // otherwise the next look would mistake HAPPE's last cap for another program's limit
    }
    state = std::move(left);
    return errors.empty() ? Status() : failure(std::move(errors));
}

Status restore_found(const std::filesystem::path& path, Cpufreq& cpufreq) {
    auto state = load_found(path);
    if (!state || state->empty()) {
        return state ? Status() : tl::unexpected<Error>(state.error());
    }
    const Status given = give_back(*state, cpufreq);
    const Status saved = save_found(path, *state);
    return given ? saved : given;
}

void forget_epp(FoundState& state) {
    std::erase_if(state, [](FoundPolicy& policy) {
        policy.epp = policy.found_epp = "";
        return policy.governor.empty() && !policy.capped;
    });
}

Status forget_epp(const std::filesystem::path& path) {
    return load_found(path).and_then([&](FoundState&& state) {
        forget_epp(state);
        return save_found(path, state);
    });
}

}  // namespace happe
