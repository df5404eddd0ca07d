// SPDX-License-Identifier: GPL-2.0-or-later
// The part of CpufreqControl that defends its settings against hotplug and other programs.
#include "governor/cpufreq/cpufreq_control.h"

#include <fmt/format.h>
#include <algorithm>

namespace happe {
namespace {

void append(std::string& text, std::string_view more) {
    text += (text.empty() ? "" : "; ");
    text += more;
}

}  // namespace

Status CpufreqControl::keep_up(MonoTime now) {
    if (mode_ == Mode::Released) {
        return {};
    }
    errors_.clear();
    if (!has_driver(now)) {
        return heeded(std::nullopt,
                      failure(fmt::format("the driver {} is gone or has changed its mode: HAPPE looks for "
                                          "the present driver",
                                          known_.front().driver)));
    }
    for (Hold& hold : holds_) {
        heed(hold.id, look(hold));
    }
    if (unsaved_) {
        unsaved_ = !heeded(std::nullopt, save_found(settings_.found, found_));
    }
    if (std::ranges::all_of(holds_, [](const Hold& hold) { return hold.state == State::OffLine; })) {
        heed(std::nullopt, failure("every policy is off line"));
    }
    const auto is_taken = [](const Hold& hold) { return hold.state == State::Taken; };
    if (std::ranges::any_of(holds_, is_taken) && !may_retake(now)) {
        return give_up();
    }
    for (Hold& hold : holds_) {
        heed(hold.id, retake(hold));
    }
    if (const Status preferred = set_epps(); epp_required_) {
        heed(std::nullopt, preferred);
    }
    return errors_.empty() ? Status() : failure(in_words(errors_));
}

// One policy in turn is enough: all have the kernel's only driver, and mostly one switch of boost. A turn that begins
// with a press skips this look.
bool CpufreqControl::has_driver(MonoTime now) {
    if (!driver_seen_ || now - *driver_seen_ >= kDriverInterval) {
        driver_seen_ = now;
        outlined_ = (outlined_ + 1) % known_.size();
        look_at_outline(known_[outlined_], outlines_[outlined_]);
    }
    return !replaced_;
}

// Reads all that describes the policy only if the outline differs from the last one.
void CpufreqControl::look_at_outline(const CpufreqPolicy& known, std::string& last) {
    auto outline = cpufreq_.outline(known.id);
    if (!outline || !*outline || **outline == last) {
        return;
    }
    if (const auto now = cpufreq_.policy(known.id).value_or(std::nullopt)) {
        replaced_ = now->driver != known.driver;
        reranged_ = reranged_ || !is_same(known, *now);
        last = *std::move(*outline);
    }
}

// The fast look of every period: a few files show whether we still have control, and the present limits.
Status CpufreqControl::look(Hold& hold) {
    if (mode_ == Mode::Lent || hold.state != State::Ours) {
        hold.latest.reset();
        return look_closer(hold);
    }
    return backend_ == Backend::Setspeed ? look_at_speed(hold) : look_at_cap(hold);
}

// For a CPU that has been idle for some milliseconds the kernel has no measurement: it shows the lower limit
// (drivers/cpufreq/intel_pstate.c, 6.6 and later), or an error.
std::optional<Khz> CpufreqControl::measure(Hold& hold) {
    const auto now = cpufreq_.frequency(hold.id, speedometer_);
    return now && *now != hold.floor ? *now : std::nullopt;
}

// While no policy has a measurement, the last ones stay. Sorted as far as needed: on a busy machine a few policies are
// enough for the highest level, which is one CPU's whole work (Demands).
void CpufreqControl::measure_speeds(std::span<PolicySample> domain) {
    if (mode_ != Mode::Governing || backend_ == Backend::Setspeed) {
        return;
    }
    const auto has_less = [](const auto* a, const auto* b) { return a->utilisation() < b->utilisation(); };
    by_work_.clear();
    std::ranges::transform(domain, std::back_inserter(by_work_), [](PolicySample& sample) { return &sample; });
    std::ranges::make_heap(by_work_, has_less);
    bool any = false;
    for (std::uint64_t work = 0; !by_work_.empty() && work < kOne.value; by_work_.pop_back()) {
        std::ranges::pop_heap(by_work_, has_less);
        PolicySample& sample = *by_work_.back();
        if (sample.utilisation() < Demands::kIdle && by_work_.size() < domain.size()) {
            break;
        }
        Hold& held = *hold(sample.id);
        sample.ran = measure(held);
        any = any || sample.ran;
        work += sample.ran ? work_below_cap(held, sample) : 0;
    }
    for (PolicySample& sample : domain) {
        Hold& held = *hold(sample.id);
        held.ran = any ? sample.ran : held.ran;
        sample.ran = held.ran;
    }
}

std::uint64_t CpufreqControl::work_below_cap(const Hold& hold, const PolicySample& sample) const {
    const Ladder& ladder = policies_[static_cast<std::size_t>(&hold - holds_.data())].ladder;
    return work_of(sample.cpus, std::min(*sample.ran, ladder.speed(*sample.current)), ladder.f_max());
}

Status CpufreqControl::look_closer(Hold& hold) {
    const auto now = cpufreq_.settings(hold.id);
    if (!now) {
        return tl::unexpected<Error>(now.error());
    }
    if (!*now) {
        hold.state = State::OffLine;
    } else if (hold.state == State::OffLine || hold.state == State::Lost) {
        hold.state = State::Lost;
    } else {
        hold.floor = (*now)->min;
        hold.ceiling = (*now)->max;
        return compare(hold, (*now)->governor);
    }
    return {};
}

Status CpufreqControl::compare(Hold& hold, const std::string& governor) {
    const auto tunables = cpufreq_.tunables(hold.id, ours_.name);
    if (!tunables) {
        return tl::unexpected<Error>(tunables.error());
    }
    hold.state = State::Ours;
    if (!ours_.name.empty() && governor != ours_.name) {
        hold.state = State::Taken;
        hold.what = fmt::format("scaling_governor was set to \"{}\"", governor);
    } else if (!std::ranges::includes(*tunables, hold.tunables)) {
        hold.state = State::Taken;
        hold.what = fmt::format("a tunable of \"{}\" was set", ours_.name);
    }
    return {};
}

// The file shows another value than our last write produced. If writing it again changes nothing, the kernel limits us.
Status CpufreqControl::insist(Hold& hold, Khz seen) {
    const Status written = write_speed(hold);
    if (!written) {
        return look_closer(hold);  // it may have changed or gone off line since
    }
    if (hold.shown != seen) {
        hold.state = State::Taken;
        hold.theirs = seen;
        hold.what = fmt::format("scaling_setspeed was set to {}", seen.value);
    }
    return {};
}

bool CpufreqControl::may_retake(MonoTime now) {
    while (!retakes_.empty() && now - retakes_.front() >= kRetakesWithin) {
        retakes_.pop_front();
    }
    if (retakes_.size() >= kMostRetakes) {
        return false;
    }
    retakes_.push_back(now);
    return true;
}

Status CpufreqControl::retake(Hold& hold) {
    switch (hold.state) {
        case State::Ours:
            return bring_about(hold);
        case State::OffLine:
            return {};
        case State::Taken:
            if (hold.theirs) {  // insist() has restored our setting
                hold.theirs.reset();
                hold.state = State::Ours;
                return {};
            }
            return seize(hold);
        case State::Lost:
            return note(hold).and_then([this] { return save_found(settings_.found, found_); }).and_then([&] {
                return hold.state == State::Lost ? seize(hold) : Status();
            });
    }
    return {};
}

// Forgets what the other program took, because it belongs to that program now.
Status CpufreqControl::give_up() {
    std::string what;
    std::string errors;
    for (const Hold& hold : holds_) {
        if (hold.state != State::Taken) {
            continue;
        }
        append(what, fmt::format("policy{}: {}", hold.id.value, hold.what));
        found(hold.id)->governor.clear();
        if (const Status theirs =
                hold.theirs ? cpufreq_.set_frequency(hold.id, Cpufreq::Frequency::Speed, *hold.theirs) : Status();
            !theirs) {
            append(errors, theirs.error().message);
        }
    }
    if (const Status given = hand_back(); !given) {
        append(errors, given.error().message);
    }
    contested_ = true;
    append(errors, fmt::format("{} by another program, again after {} corrections within {} s: HAPPE gives up", what,
                               kMostRetakes, kRetakesWithin / std::chrono::seconds{1}));
    return failure(std::move(errors));
}

}  // namespace happe
