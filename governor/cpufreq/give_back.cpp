// SPDX-License-Identifier: GPL-2.0-or-later
// The half of found_state.h that writes to the machine.
#include "governor/cpufreq/found_state.h"

#include <fmt/format.h>

namespace happe {
namespace {

// One may depend on another (conservative's two thresholds), so what is refused is tried again after the others.
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

// Limits first: a governor starts within them.
Status give_back_settings(const FoundPolicy& policy, const CpufreqSettings& now, Cpufreq& cpufreq) {
    Status status;
    if (policy.capped && now.max != policy.found.max) {
        status = cpufreq.set_frequency(policy.id, Cpufreq::Frequency::Max, policy.found.max);
    }
    return status && !policy.governor.empty() ? give_back_governor(policy, now, cpufreq) : status;
}

// A limit that still shows less than was found is another's, or the kernel's: ours is gone once it is overwritten.
Status check(const FoundPolicy& policy, const CpufreqSettings& after) {
    if (policy.governor.empty() || after.governor == policy.found.governor) {
        return {};
    }
    return failure(fmt::format("policy{}: scaling_governor is still \"{}\" after \"{}\" was written", policy.id.value,
                               after.governor, policy.found.governor));
}

// Whether nothing of it is left to give back.
Result<bool> give_back(const FoundPolicy& policy, Cpufreq& cpufreq) {
    const auto before = cpufreq.settings(policy.id);
    if (!before) {
        return tl::unexpected<Error>(before.error());
    }
    if (!*before || !is_ours(policy, **before)) {
        return before->has_value();
    }
    const Status written = give_back_settings(policy, **before, cpufreq);
    const auto after = cpufreq.settings(policy.id);
    if (after && !*after) {
        return false;  // went off line meanwhile
    }
    if (!written || !after) {
        return tl::unexpected<Error>(written ? after.error() : written.error());
    }
    return check(policy, **after).map([] { return true; });
}

}  // namespace

bool is_ours(const FoundPolicy& policy, const CpufreqSettings& now) {
    return (policy.governor.empty() || now.governor == policy.governor) &&
           (!policy.capped || now.max <= policy.found.max);
}

Status give_back(FoundState& state, Cpufreq& cpufreq) {
    FoundState left;
    std::string errors;
    for (const FoundPolicy& policy : state) {
        const auto gone = give_back(policy, cpufreq);
        if (!gone) {
            errors += (errors.empty() ? "" : "; ") + gone.error().message;
        }
        if (!gone || !*gone) {
            left.push_back(policy);
        }
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

}  // namespace happe
