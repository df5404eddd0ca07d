// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/overlay/overlay_state.h"

#include <algorithm>
#include <cmath>

namespace happe::ui {
namespace {

using std::chrono::minutes;

double share_of_one(std::uint32_t ppm) {
    return double(ppm) / 1e6;
}

minutes rounded(Seconds time) {
    return minutes(std::lround(time.count() / 60.0));
}

// The whole minutes left: 0 only in the last one.
minutes whole(Seconds time) {
    return std::chrono::floor<minutes>(time);
}

}  // namespace

std::uint32_t DaemonState::speed(std::uint32_t khz) const {
    const auto real = real_khz.find(khz);
    return real != real_khz.end() ? real->second : khz;
}

std::optional<OverlayState::Current> OverlayState::current() const {
    std::optional<Current> found;
    if (!governor_.indicator) {
        return found;
    }
    double highest = -1.0;
    for (const DaemonState::Policy& policy : governor_.policies) {
        const auto target = governor_.target_khz.find(policy.id);
        if (target == governor_.target_khz.end() || policy.ladder_khz.empty()) {
            continue;
        }
        const auto sampled = governor_.samples.find(policy.id);
        const auto sample =
            sampled != governor_.samples.end() ? sampled->second : DaemonState::Sample{.khz = target->second};
        const double normalised = share_of_one(sample.utilisation_ppm) * speed(sample.khz);
        if (normalised > highest) {
            highest = normalised;
            found = {&policy, sample, target->second};
        }
    }
    return found;
}

double OverlayState::watts(std::uint32_t khz, double utilisation) const {
    return model_.watts(speed(khz), utilisation);
}

// "+18 min": the remaining time at the frequency after the press, minus that before it, both at the present
// utilisation. For a real battery, adds the model's difference to the power that it delivers now.
std::optional<minutes> OverlayState::gained(std::uint32_t from, std::uint32_t to, double load) const {
    const double before = watts(from, load);
    const double after = watts(to, load);
    if (simulates()) {
        return rounded(ui::gained(simulated_.joules(), before, after));
    }
    const double least = model_.watts(0, 0.0) / 10;  // a battery's own figure may be wrong
    if (!knows_machine_ || !real_ || !real_->remaining || real_->watts <= 0.0) {
        return std::nullopt;
    }
    return rounded(ui::gained(real_->joules, real_->watts, std::max(least, real_->watts + after - before)));
}

double OverlayState::drawn(Moment now) const {
    return watts_ * std::max(0.0, (now - at_).count());
}

void OverlayState::drain(Moment now) {
    simulated_.draw(watts_, now - at_);
    at_ = now;
}

void OverlayState::take_effect(Moment now) {
    const auto shown = current();
    if (!pressed_ || !shown) {
        return;
    }
    const std::uint32_t from = shown->sample.khz;  // Algorithm 3: a key steps from the frequency it ran at
    effect_ = {.key = *pressed_,
               .from_khz = speed(from),
               .to_khz = speed(shown->target_khz),
               .gained = gained(from, shown->target_khz, share_of_one(shown->sample.utilisation_ppm)),
               .fastest = governor_.fastest_us != fastest_us_,
               .limit_khz = governor_.limit_khz};
    effect_at_ = now;
    pressed_.reset();
}

// The next sample after an event shows its effect; later samples bring less and less news. In a run happed announces
// nothing.
void OverlayState::plan_look(bool news, Moment now) {
    const auto shown = current();
    if (!shown || !simulates()) {
        look_.reset();
        return;
    }
    pause_ = news || !governor_.run.empty() ? kFirstLook : std::min(pause_ * 2, kLastLook);
    look_ = now + pause_;
}

void OverlayState::governor(const std::optional<DaemonState>& governor, Moment now) {
    drain(now);
    const DaemonState next = governor.value_or(DaemonState{});
    if (next.run != governor_.run) {
        simulated_.refill();  // each run begins with a full battery
        measured_.reset();    // power in a run would reveal its condition, even after its end
        history_.forget();
    }
    if (next.application != governor_.application || next.run != governor_.run || next.target_khz.empty()) {
        effect_.reset();
    }
    const bool news = next.target_khz != governor_.target_khz || next.application != governor_.application || pressed_;
    governor_ = next;
    take_effect(now);
    fastest_us_ = governor_.fastest_us;
    pressed_.reset();  // it belongs to a user whose state happed hides from us
    const auto shown = current();
    watts_ = shown ? watts(shown->target_khz, share_of_one(shown->sample.utilisation_ppm)) : 0.0;
    history_.becomes(known_watts(), now);
    plan_look(news, now);
}

void OverlayState::battery(const std::optional<RealBattery>& battery, Moment now) {
    real_ = battery;
    measured_ = battery && battery->watts > 0.0 ? std::optional(battery->watts) : std::nullopt;
    history_.becomes(known_watts(), now);
}

// The power from the battery on the screen. The T61's model drives the study's battery, but it is not this machine's
// power.
std::optional<double> OverlayState::known_watts() const {
    if (!has_details()) {
        return std::nullopt;
    }
    if (always_simulates_) {
        return knows_machine_ && current() ? std::optional(watts_) : std::nullopt;
    }
    return measured_;
}

std::optional<Power> OverlayState::power(Moment now) const {
    if (!known_watts()) {
        return std::nullopt;
    }
    return Power{.from = always_simulates_ ? Power::From::Model : Power::From::Battery, .watts = history_.steps(now)};
}

std::optional<Seconds> OverlayState::remaining_time(Moment now) const {
    if (!simulates()) {
        return real_ ? real_->remaining : std::nullopt;
    }
    return remaining(std::max(0.0, simulated_.joules() - drawn(now)), watts_);
}

std::optional<int> OverlayState::charge_percent(Moment now) const {
    const auto percent = [](double share) {
        return static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * 100.0));
    };
    if (simulates()) {
        return percent((simulated_.joules() - drawn(now)) / simulated_.full());
    }
    return real_ && real_->charge ? std::optional(percent(*real_->charge)) : std::nullopt;
}

bool OverlayState::shows_effect(Moment now) const {
    return effect_ && now < effect_at_ + kEffectShown;
}

std::optional<Shown> OverlayState::shown(Moment now) const {
    const auto at = current();
    if (!at) {
        return std::nullopt;
    }
    const auto& ladder = at->policy->ladder_khz;
    const auto step = std::ranges::lower_bound(ladder, at->target_khz);
    const auto time = remaining_time(now);
    return Shown{.on_battery = simulates() || real_,
                 .remaining = time ? std::optional(whole(*time)) : std::nullopt,
                 .charge_percent = charge_percent(now),
                 .step = std::min(static_cast<std::size_t>(step - ladder.begin()) + 1, ladder.size()),
                 .steps = ladder.size(),
                 .khz = speed(at->target_khz),
                 .effect = shows_effect(now) ? effect_ : std::nullopt,
                 .details = has_details(),
                 .power = power(now)};
}

std::optional<Moment> OverlayState::next_change(Moment now) const {
    if (!current()) {
        return std::nullopt;
    }
    std::optional<Moment> next;
    if (shows_effect(now)) {
        next = effect_at_ + kEffectShown;
    }
    if (simulates() && simulated_.joules() > drawn(now)) {
        const Seconds time = *remaining_time(now);
        const Moment minute = now + (time - whole(time)) + std::chrono::milliseconds(1);
        next = next ? std::min(*next, minute) : minute;
    }
    if (known_watts()) {
        const Moment step = PowerHistory::next_step(now);
        next = next ? std::min(*next, step) : step;
    }
    return next;
}

}  // namespace happe::ui
