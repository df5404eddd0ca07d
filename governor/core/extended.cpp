// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/core/extended.h"

#include <algorithm>

namespace happe {

void Hold::see(Level level, MonoTime at, Micros held) {
    seen_.at(level.value) = at;
    level_ = level;
    for (std::uint8_t higher = level.value; higher < Uafp::kLevels; ++higher) {
        const std::optional<MonoTime>& seen = seen_.at(higher);
        if (seen && at - *seen < held) {
            level_.value = higher;
        }
    }
}

void Descent::pass(MonoTime at) {
    passed_ = now_ ? std::min(at - *now_, kLongestLine) : Micros{0};
    now_ = at;
}

// Keeps the time of the last probe, for all users.
void Descent::forget() {
    probe_.reset();
    now_.reset();
}

std::optional<ProbeEvent> Descent::pressed(Key key, Uafp& uafp, Patience& patience) {
    const bool faster = key == Key::Performance;
    patience.quiet = Micros{0};
    patience.wait = faster ? std::clamp(patience.wait * 2, Patience::kLeastPressed, Patience::kMost)
                           : std::max(patience.wait / 2, Patience::kFirst);
    return stop(faster ? ProbeEvent::Refused : ProbeEvent::Ended, uafp);
}

std::optional<ProbeEvent> Descent::stop(ProbeEvent how, Uafp& uafp) {
    if (!probe_) {
        return std::nullopt;
    }
    uafp = probe_->before;
    probe_.reset();
    return how;
}

std::optional<ProbeEvent> Descent::quiet(const Chance& chance, Uafp& uafp, Patience& patience) {
    const auto& [level, lower, binds, idle] = chance;
    if (probe_) {
        const bool tried = probe_->lower.at(level) == probe_->lower.at(probe_->level);
        probe_->quiet += tried && binds ? passed_ : Micros{0};
        if (probe_->quiet < kAccepted || *now_ - idle < probe_->begun) {
            return std::nullopt;
        }
        probe_.reset();
        return ProbeEvent::Accepted;
    }
    patience.quiet = std::min(patience.quiet + passed_, Patience::kMost);
    if (!binds || patience.quiet < patience.wait || lower >= uafp.at(level) || (begun_ && *now_ - *begun_ < kApart)) {
        return std::nullopt;
    }
    probe_ = Probe{.before = uafp, .lower = uafp, .level = level, .begun = *now_};
    probe_->lower.learn(level, lower);
    begun_ = now_;
    patience.quiet = Micros{0};
    uafp = probe_->lower;
    return ProbeEvent::Begun;
}

// Without HAPPE the kernel's governor takes a higher frequency for a CPU that is busy for 80 % of the time
// (kernel/sched/cpufreq_schedutil.c, get_next_freq). Below a cap, the measured speed tells.
bool is_bound(const Running& policy) {
    constexpr Ppm kBusy{800'000};
    constexpr Ppm kUsed{100'000};
    if (!policy.ran) {
        return policy.utilisation >= kBusy;
    }
    const Khz lower = policy.ladder->below(policy.current);
    return policy.utilisation >= kUsed && (lower >= policy.current || policy.speed() > policy.ladder->speed(lower));
}

bool is_work_of_others(std::span<const Running> policies, Ppm front) {
    std::uint64_t used = 0;
    for (const Running& policy : policies) {
        for (const Ppm cpu : policy.cpus) {
            used += cpu.value;
        }
    }
    return 2 * std::uint64_t{front.value} <= used;
}

void FasterSequence::pressed(Key key, MonoTime at, Micros soon) {
    constexpr std::size_t kMost = 6;  // 64 steps are any ladder's
    const bool follows = key == Key::Performance && last_ && at - *last_ < soon;
    repeats_ = follows ? std::min(repeats_ + 1, kMost) : 0;
    last_ = key == Key::Performance ? std::optional(at) : std::nullopt;
}

}  // namespace happe
