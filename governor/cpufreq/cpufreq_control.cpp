// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/cpufreq/cpufreq_control.h"

#include <fmt/format.h>
#include <algorithm>

namespace happe {
namespace {

using Frequency = Cpufreq::Frequency;

constexpr const char* kUserspace = "userspace";

Status both(const Status& first, const Status& second) {
    if (first && second) {
        return {};
    }
    return first || second ? failure(first ? second.error().message : first.error().message)
                           : failure(first.error().message + "; " + second.error().message);
}

bool is_same(const CpufreqPolicy& a, const CpufreqPolicy& b) {
    return a.id == b.id && a.cpus == b.cpus && a.driver == b.driver && a.frequencies == b.frequencies &&
           a.lowest == b.lowest && a.highest == b.highest && backend_of({&a, 1}) == backend_of({&b, 1});
}

}  // namespace

Result<std::unique_ptr<CpufreqControl>> CpufreqControl::open(Cpufreq& cpufreq, ControlSettings settings) {
    auto known = cpufreq.policies();
    if (!known) {
        return tl::unexpected<Error>(known.error());
    }
    if (known->empty()) {
        return failure("the kernel has no cpufreq policy on line");
    }
    std::vector<Policy> policies;
    for (const CpufreqPolicy& policy : *known) {
        const auto ladder = make_ladder(policy, settings.speeds);
        if (!ladder) {
            return tl::unexpected<Error>(ladder.error());
        }
        policies.push_back({policy.id, policy.cpus, *ladder});
    }
    return std::unique_ptr<CpufreqControl>(
        new CpufreqControl(cpufreq, std::move(settings), std::move(*known), std::move(policies)));
}

CpufreqControl::CpufreqControl(Cpufreq& cpufreq, ControlSettings settings, std::vector<CpufreqPolicy> known,
                               std::vector<Policy> policies)
    : cpufreq_(cpufreq),
      settings_(std::move(settings)),
      known_(std::move(known)),
      policies_(std::move(policies)),
      backend_(backend_of(known_)),
      file_(backend_ == Backend::Setspeed ? Frequency::Speed : Frequency::Max) {}

CpufreqControl::~CpufreqControl() {
    static_cast<void>(release());
}

std::optional<Khz> CpufreqControl::current(PolicyId policy) const {
    const auto held = std::ranges::find(holds_, policy, &Hold::id);
    if (mode_ == Mode::Governing && held != holds_.end() && held->latest) {
        return held->latest;
    }
    const auto now = cpufreq_.frequency(policy, mode_ == Mode::Governing ? file_ : Frequency::Current);
    return now ? *now : std::nullopt;
}

bool CpufreqControl::changed() const {
    const auto now = cpufreq_.policies();
    return now && !std::ranges::all_of(*now, [this](const CpufreqPolicy& policy) {
               return std::ranges::any_of(known_, [&](const CpufreqPolicy& known) { return is_same(known, policy); });
           });
}

Status CpufreqControl::acquire() {
    if (mode_ == Mode::Governing) {
        return {};
    }
    return heeded(take(Mode::Governing, {.name = backend_ == Backend::Setspeed ? kUserspace : "", .tunables = {}}));
}

Status CpufreqControl::lend(const ScalingGovernor& governor) {
    return take(Mode::Lent, governor);
}

Status CpufreqControl::fix(std::size_t step) {
    Status status = release().and_then([this] { return acquire(); });
    for (const Policy& policy : policies_) {
        if (status) {
            status = set(policy.id, policy.ladder[std::min(step, policy.ladder.size() - 1)]);
        }
    }
    return status ? status : both(status, release());
}

Status CpufreqControl::take(Mode mode, ScalingGovernor ours) {
    if (const Status before = release(); !before) {
        return before;
    }
    ours_ = std::move(ours);
    retakes_.clear();
    holds_.clear();
    for (const Policy& policy : policies_) {
        holds_.push_back({.id = policy.id});
    }
    if (const Status noted = note_all(); !noted) {
        return noted;
    }
    mode_ = mode;
    for (Hold& hold : holds_) {
        const Status seized = hold.state == State::OffLine ? Status() : seize(hold);
        if (!seized) {
            return both(seized, release());
        }
    }
    return {};
}

// With nothing in hand, what the file says was left is given back: by a process before this one, or on a policy that
// was off line or refused it.
Status CpufreqControl::release() {
    contested_ = false;
    forget_trouble();
    if (mode_ == Mode::Released) {
        return restore_found(settings_.found, cpufreq_).and_then([this] {
            return load_found(settings_.found).map([this](FoundState&& left) { found_ = std::move(left); });
        });
    }
    return hand_back();
}

Status CpufreqControl::hand_back() {
    mode_ = Mode::Released;
    const Status given = give_back(found_, cpufreq_);
    return both(given, save_found(settings_.found, found_));
}

FoundPolicy* CpufreqControl::found(PolicyId policy) {
    const auto entry = std::ranges::find(found_, policy, &FoundPolicy::id);
    return entry == found_.end() ? nullptr : &*entry;
}

CpufreqControl::Hold* CpufreqControl::hold(PolicyId policy) {
    const auto entry = std::ranges::find(holds_, policy, &Hold::id);
    return entry == holds_.end() ? nullptr : &*entry;
}

// On the disk before anything is written to the machine.
Status CpufreqControl::note_all() {
    Status status;
    for (Hold& hold : holds_) {
        status = status ? note(hold) : status;
    }
    return status ? save_found(settings_.found, found_) : status;
}

// A policy that is still as HAPPE once made it, before it went off line, was found then.
Status CpufreqControl::note(Hold& hold) {
    const auto now = cpufreq_.settings(hold.id);
    if (!now || !*now) {
        hold.state = State::OffLine;
        return now ? Status() : tl::unexpected<Error>(now.error());
    }
    const auto tunables = cpufreq_.tunables(hold.id, (*now)->governor);
    if (!tunables) {
        return tl::unexpected<Error>(tunables.error());
    }
    FoundPolicy entry{.id = hold.id, .found = **now, .tunables = *tunables};
    if (const FoundPolicy* const old = found(hold.id)) {
        if (is_ours(*old, **now)) {
            entry = *old;
        }
        std::erase_if(found_, [&](const FoundPolicy& other) { return other.id == hold.id; });
    }
    entry.governor = ours_.name;
    entry.capped = ours_.name.empty();
    found_.insert(std::ranges::upper_bound(found_, entry.id, {}, &FoundPolicy::id), entry);
    return {};
}

Status CpufreqControl::seize(Hold& hold) {
    Status status = ours_.name.empty() ? Status() : cpufreq_.set_governor(hold.id, ours_.name);
    status = status ? set_tunables(hold) : status;
    status = status && hold.wanted ? write(hold) : status;
    if (!status) {
        return status;
    }
    const auto now = cpufreq_.settings(hold.id);
    if (!now) {
        return tl::unexpected<Error>(now.error());
    }
    if (*now && !ours_.name.empty() && (*now)->governor != ours_.name) {
        return failure(fmt::format("policy{}: scaling_governor is \"{}\" after \"{}\" was written", hold.id.value,
                                   (*now)->governor, ours_.name));
    }
    hold.state = *now ? State::Kept : State::OffLine;
    return {};
}

Status CpufreqControl::set_tunables(Hold& hold) {
    for (const auto& [name, value] : ours_.tunables) {
        if (const Status set = cpufreq_.set_tunable(hold.id, ours_.name, name, value); !set) {
            return set;
        }
    }
    return cpufreq_.tunables(hold.id, ours_.name).map([&](Tunables&& now) {
        std::erase_if(now, [this](const auto& tunable) { return !ours_.tunables.contains(tunable.first); });
        hold.tunables = std::move(now);
    });
}

Status CpufreqControl::set(PolicyId policy, Khz khz) {
    if (contested_) {
        return {};
    }
    Hold* const held = hold(policy);
    if (mode_ != Mode::Governing || held == nullptr) {
        return failure(fmt::format("policy{}: not acquired", policy.value));
    }
    held->wanted = khz;
    if (held->state != State::Kept) {
        return {};
    }
    const Status written = write(*held);
    if (written) {
        return {};
    }
    const auto now = cpufreq_.settings(policy);
    const bool ours = !now || (*now && is_ours(*found(policy), **now));
    return ours ? heeded(written) : Status();
}

Status CpufreqControl::heeded(Status status) {
    if (!status) {
        more_troubles_ += trouble_.empty() ? 0 : 1;
        trouble_ = trouble_.empty() ? status.error().message : trouble_;
    }
    return status;
}

void CpufreqControl::forget_trouble() {
    trouble_.clear();
    more_troubles_ = 0;
}

std::string CpufreqControl::trouble() const {
    return more_troubles_ == 0 ? trouble_ : fmt::format("{} (and {} more)", trouble_, more_troubles_);
}

Status CpufreqControl::write(Hold& hold) {
    hold.latest.reset();
    const auto khz = within_limits(hold);
    if (!khz) {
        return tl::unexpected<Error>(khz.error());
    }
    if (const Status written = cpufreq_.set_frequency(hold.id, file_, *khz); !written) {
        return written;
    }
    return cpufreq_.frequency(hold.id, file_).map([&](const std::optional<Khz>& shown) {
        hold.shown = hold.latest = shown;
    });
}

// A cap is never above the limit that was found, nor below another's lower limit, which it would push down.
Result<Khz> CpufreqControl::within_limits(const Hold& hold) {
    if (backend_ == Backend::Setspeed) {
        return *hold.wanted;
    }
    return cpufreq_.frequency(hold.id, Frequency::Min).map([&](const std::optional<Khz>& least) {
        return std::min(std::max(*hold.wanted, least.value_or(*hold.wanted)), found(hold.id)->found.max);
    });
}

}  // namespace happe
