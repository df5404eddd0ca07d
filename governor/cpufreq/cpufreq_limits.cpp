// SPDX-License-Identifier: GPL-2.0-or-later
// The part of CpufreqControl that sets frequencies within the limits of others: docs/limits.md.
#include "governor/cpufreq/cpufreq_control.h"

#include "governor/documents/printable.h"

#include <fmt/format.h>
#include <algorithm>
#include <utility>

namespace happe {

std::string in_words(std::span<const PolicyLimits> limits) {
    std::map<std::pair<Khz, Khz>, std::vector<std::uint32_t>> policies;
    for (const PolicyLimits& limit : limits) {
        policies[{limit.least, limit.most}].push_back(limit.policy.value);
    }
    std::string text = "another program or the kernel limits ";
    for (const auto& [range, numbers] : policies) {
        const auto [least, most] = range;
        text += fmt::format("{}policy {} to the range {} to {} kHz", range == policies.begin()->first ? "" : "; ",
                            number_list(numbers), least.value, most.value);
    }
    return limits.empty() ? "all limits by other programs or the kernel are gone" : text;
}

// Sets the loop's target within the limits of others. Writes only values that have changed.
Status CpufreqControl::bring_about(Hold& hold) {
    if (mode_ != Mode::Governing || hold.state != State::Ours || !hold.wanted) {
        return {};
    }
    return backend_ == Backend::Setspeed ? bring_about_speed(hold) : bring_about_cap(hold);
}

Status CpufreqControl::bring_about_speed(Hold& hold) {
    const Khz target = within_limits(hold);
    return hold.asked == target && hold.shown == hold.latest ? Status() : write_speed(hold);
}

Status CpufreqControl::write_speed(Hold& hold) {
    hold.latest.reset();
    const Khz target = within_limits(hold);
    if (const Status written = cpufreq_.set_frequency(hold.id, Cpufreq::Frequency::Speed, target); !written) {
        return written;
    }
    hold.asked = target;
    return cpufreq_.frequency(hold.id, Cpufreq::Frequency::Speed).map([&](const std::optional<Khz>& shown) {
        hold.shown = hold.latest = shown;
    });
}

// A limit as low as the cap does the cap's work. Our write of the cap would destroy a higher limit. So we first find
// out who set it. We must remember a program's limit. We need not remember the kernel's limit, but the kernel does not
// announce its end.
Status CpufreqControl::bring_about_cap(Hold& hold) {
    const Khz cap = within_limits(hold);
    const std::optional<Khz> unknown = found(hold.id)->unknown_max;
    if (hold.probed) {
        return {};  // the next keep_up() sees the answer
    }
    if (unknown && cap < *unknown) {
        return probe(hold, *unknown);
    }
    return unknown || hold.asked == cap ? Status() : write_cap(hold, cap);
}

// The write destroys this limit, which until then was what we found. So from now on only the answer tells whether there
// is one, also after a kill.
Status CpufreqControl::probe(Hold& hold, Khz limit) {
    FoundPolicy& entry = *found(hold.id);
    if (limit >= entry.found.max) {
        entry.found.max = kNoLimit;
        if (const Status saved = save_found(settings_.found, found_); !saved) {
            return saved;
        }
    }
    hold.probed = limit;
    return write_cap(hold, probe_of(limit, hold.id, cpufreq_));
}

Status CpufreqControl::write_cap(Hold& hold, Khz khz) {
    if (const Status written = cpufreq_.set_frequency(hold.id, Cpufreq::Frequency::Max, khz); !written) {
        hold.probed.reset();
        return written;
    }
    hold.before = hold.latest;
    hold.asked = hold.latest = khz;
    return {};
}

Khz CpufreqControl::highest_cap(const Hold& hold) const {
    const FoundPolicy& entry = *found(hold.id);
    return std::min(std::max(entry.found.max, entry.unknown_max.value_or(Khz{})), known(hold).highest);
}

// What scaling_max_freq shows without a limit: boost may have been switched since open().
Khz CpufreqControl::highest_now(const Hold& hold) const {
    const auto now = cpufreq_.policy(hold.id).value_or(std::nullopt);
    return now ? now->highest : known(hold).highest;
}

// The kernel lets a ceiling win over a floor, so a cap below the floor would push the floor down.
Khz CpufreqControl::within_limits(const Hold& hold) const {
    const Khz ceiling = backend_ == Backend::Setspeed ? hold.ceiling : highest_cap(hold);
    return hold.floor_hidden ? ceiling : std::min(std::max(*hold.wanted, hold.floor), ceiling);
}

Status CpufreqControl::look_at_speed(Hold& hold) {
    const auto seen = cpufreq_.frequency(hold.id, Cpufreq::Frequency::Speed);
    const auto floor = cpufreq_.frequency(hold.id, Cpufreq::Frequency::Min);
    const auto ceiling = cpufreq_.frequency(hold.id, Cpufreq::Frequency::Max);
    for (const auto* const read : {&seen, &floor, &ceiling}) {
        if (!*read) {
            return tl::unexpected<Error>(read->error());
        }
    }
    hold.latest = *seen;
    if (!*seen || !*floor || !*ceiling) {
        return look_closer(hold);
    }
    hold.floor = **floor;
    hold.ceiling = **ceiling;
    const bool limits_changed = hold.wanted && hold.asked != within_limits(hold);
    return limits_changed || !hold.wanted || *seen == hold.shown ? Status() : insist(hold, **seen);
}

Status CpufreqControl::look_at_cap(Hold& hold) {
    const auto seen = cpufreq_.frequency(hold.id, Cpufreq::Frequency::Max);
    const auto floor = cpufreq_.frequency(hold.id, Cpufreq::Frequency::Min);
    for (const auto* const read : {&seen, &floor}) {
        if (!*read) {
            return tl::unexpected<Error>(read->error());
        }
    }
    if (!*seen || !*floor) {
        return look_closer(hold);
    }
    const std::optional<Khz> before = std::exchange(hold.before, std::nullopt);
    if (*seen == before && *seen != hold.asked) {
        return {};  // our write may not be in force yet; the next look shows it
    }
    see_cap(hold, **seen);
    see_floor(hold, **floor);
    return {};
}

void CpufreqControl::see_cap(Hold& hold, Khz seen) {
    if (is_answered(hold, seen) || seen == hold.latest) {
        return;
    }
    FoundPolicy& entry = *found(hold.id);
    const bool is_top = seen >= highest_now(hold);
    hold.latest = seen;
    unsaved_ = true;
    if (seen == hold.asked || is_top) {
        entry.unknown_max.reset();
    } else {
        entry.unknown_max = seen;
    }
    if (is_top && seen != hold.asked) {
        entry.found.max = kNoLimit;
    }
    if (hold.asked && seen > *hold.asked) {
        hold.asked.reset();  // another program has overwritten it
    }
}

// True if `seen` shows who has set the limit.
bool CpufreqControl::is_answered(Hold& hold, Khz seen) {
    const std::optional<Khz> limit = std::exchange(hold.probed, std::nullopt);
    if (!limit || (seen != *limit && seen != probe_of(*limit, hold.id, cpufreq_))) {
        return false;
    }
    FoundPolicy& entry = *found(hold.id);
    if (seen != *limit) {
        entry.found.max = *limit;
    }
    entry.unknown_max.reset();
    hold.latest = seen;
    unsaved_ = true;
    return true;
}

// The kernel never shows a floor above the ceiling. A floor at our cap may really be higher: raise the cap to see it.
void CpufreqControl::see_floor(Hold& hold, Khz seen) {
    hold.floor_hidden = seen > hold.floor && hold.latest == seen && hold.asked == seen && seen < highest_cap(hold);
    if (!hold.floor_hidden) {
        hold.floor = seen;
    }
}

std::vector<PolicyLimits> CpufreqControl::limits() const {
    std::vector<PolicyLimits> limits;
    for (const Hold& hold : holds_) {
        const PolicyLimits of_hold = limits_of(hold);
        const CpufreqPolicy& whole = known(hold);
        if (mode_ != Mode::Released && hold.state == State::Ours &&
            (of_hold.least > whole.lowest || of_hold.most < whole.highest)) {
            limits.push_back(of_hold);
        }
    }
    return limits;
}

PolicyLimits CpufreqControl::limits_of(const Hold& hold) const {
    Khz most = hold.ceiling;
    const FoundPolicy* const entry = backend_ == Backend::Cap ? found(hold.id) : nullptr;
    if (entry != nullptr && entry->capped) {
        const bool is_held_down = hold.asked && hold.latest && *hold.latest < *hold.asked;
        most = entry->unknown_max.value_or(is_held_down ? *hold.latest : highest_cap(hold));
    }
    return {hold.id, hold.floor, most};
}

}  // namespace happe
