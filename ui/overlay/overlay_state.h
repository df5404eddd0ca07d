// SPDX-License-Identifier: GPL-2.0-or-later
// Computes what the overlay shows from the state of happed and the battery. No clock, bus or window; overlay_words.h
// has the words.
#pragma once

#include "governor/core/units.h"
#include "ui/overlay/battery_model.h"
#include "ui/overlay/power_history.h"
#include "ui/overlay/power_model.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace happe::ui {

// The properties of org.happe.Governor1 (docs/dbus.md) that the overlay needs.
struct DaemonState {
    struct Policy {
        std::uint32_t id = 0;
        std::vector<std::uint32_t> ladder_khz;  // ascending
        std::vector<std::uint32_t> cpus;
        bool operator==(const Policy&) const = default;
    };
    struct Sample {
        std::uint32_t khz = 0;  // the frequency at which it ran
        std::uint32_t utilisation_ppm = 0;
        std::uint8_t level = 0;  // docs/traces.md
        bool operator==(const Sample&) const = default;
    };

    bool indicator = true;  // the run's condition allows an indicator on the screen
    std::string run;        // the code of the run; empty if there is none
    std::string application;
    std::vector<Policy> policies;
    std::map<std::uint32_t, std::uint32_t> target_khz;  // by policy; empty: happed serves nobody, or hides it from us
    std::map<std::uint32_t, Sample> samples;            // by policy
    std::int64_t fastest_us = 0;                        // when a press last found nothing faster
    std::optional<std::uint32_t> limit_khz{};           // the lowest limit of others
    std::map<std::uint32_t, std::uint32_t> real_khz;    // the real speed of listed frequencies that differ from it

    // The real speed of a frequency of a ladder.
    [[nodiscard]] std::uint32_t speed(std::uint32_t khz) const;
    bool operator==(const DaemonState&) const = default;
};

// The state of the battery, from UPower.
struct RealBattery {
    double joules = 0.0;
    double watts = 0.0;                // the machine's draw
    std::optional<Seconds> remaining;  // none: unknown
    std::optional<double> charge;      // 0 to 1; none: unknown
    bool operator==(const RealBattery&) const = default;
};

// The effect of the last key: a step of the current policy, and the gained time, if known.
struct Effect {
    Key key = Key::Power;
    std::uint32_t from_khz = 0;
    std::uint32_t to_khz = 0;
    std::optional<std::chrono::minutes> gained;
    bool fastest = false;                      // there is nothing faster
    std::optional<std::uint32_t> limit_khz{};  // others allow no more than this
    bool operator==(const Effect&) const = default;
};

// The power over the last minutes (PowerHistory::steps). The present one is never unknown.
struct Power {
    enum class From { Battery, Model };

    From from = From::Battery;
    std::vector<std::optional<double>> watts;
    bool operator==(const Power&) const = default;
};

struct Shown {
    bool on_battery = true;
    std::optional<std::chrono::minutes> remaining;  // none: on mains, or not known
    std::optional<int> charge_percent;              // none: on mains, or not known
    std::size_t step = 0;                           // on the ladder, from 1
    std::size_t steps = 0;
    std::uint32_t khz = 0;  // its real speed
    std::optional<Effect> effect;
    bool details = false;        // the user wants to see the speed and the power, too
    std::optional<Power> power;  // none: no details, or no source
    bool operator==(const Shown&) const = default;
};

class OverlayState {
public:
    // How long the picture shows the effect of a key.
    static constexpr Moment kEffectShown = std::chrono::seconds(10);
    // The times from an event to the first and to the last look at the utilisation. Each wait is twice the one before.
    static constexpr Moment kFirstLook = std::chrono::seconds(1);
    static constexpr Moment kLastLook = std::chrono::seconds(60);

    // With the simulated battery, by the T61's model or by this machine's own. `details`: shows the speed and the
    // power, too, but not in a study's run.
    static OverlayState simulated(std::optional<PowerModel> own, bool details = false) {
        return {std::move(own), true, details};
    }
    // With the real battery; in a study's run with the simulated one. The effect of a key is known only with a model of
    // this machine.
    static OverlayState real(std::optional<PowerModel> own, bool details = false) {
        return {std::move(own), false, details};
    }

    // happed's new state; none: happed has gone.
    void governor(const std::optional<DaemonState>& governor, Moment now);
    // happed has counted a key. Its effect is in happed's next state.
    void key(Key key) { pressed_ = key; }
    // The discharging battery; none: the machine is on mains, or has no battery.
    void battery(const std::optional<RealBattery>& battery, Moment now);

    // None while happed serves nobody.
    [[nodiscard]] std::optional<Shown> shown(Moment now) const;
    // When to ask happed again although it reports no change; none: wait for its report.
    [[nodiscard]] std::optional<Moment> next_look() const { return look_; }
    // The time at which the picture changes without an event; none: never.
    [[nodiscard]] std::optional<Moment> next_change(Moment now) const;

private:
    // The policy in the picture, to which a press belongs: the one of highest normalised utilisation (docs/traces.md).
    struct Current {
        const DaemonState::Policy* policy = nullptr;
        DaemonState::Sample sample;
        std::uint32_t target_khz = 0;
    };

    OverlayState(std::optional<PowerModel> own, bool always_simulates, bool details)
        : always_simulates_(always_simulates),
          wants_details_(details),
          knows_machine_(own),
          model_(std::move(own).value_or(PowerModel::t61())) {}

    [[nodiscard]] bool simulates() const { return always_simulates_ || !governor_.run.empty(); }
    [[nodiscard]] bool has_details() const { return wants_details_ && governor_.run.empty(); }
    [[nodiscard]] std::optional<Current> current() const;
    [[nodiscard]] std::uint32_t speed(std::uint32_t khz) const { return governor_.speed(khz); }
    [[nodiscard]] double watts(std::uint32_t khz, double utilisation) const;
    [[nodiscard]] std::optional<Seconds> remaining_time(Moment now) const;
    [[nodiscard]] std::optional<int> charge_percent(Moment now) const;
    [[nodiscard]] std::optional<std::chrono::minutes> gained(std::uint32_t from, std::uint32_t to, double load) const;
    [[nodiscard]] std::optional<double> known_watts() const;
    [[nodiscard]] std::optional<Power> power(Moment now) const;
    [[nodiscard]] bool shows_effect(Moment now) const;
    [[nodiscard]] double drawn(Moment now) const;
    void drain(Moment now);
    void take_effect(Moment now);
    void plan_look(bool news, Moment now);

    bool always_simulates_;
    bool wants_details_;
    bool knows_machine_;
    PowerModel model_;
    SimulatedBattery simulated_{model_};
    std::optional<RealBattery> real_;
    DaemonState governor_;
    std::int64_t fastest_us_ = 0;  // the last press that found nothing faster
    std::optional<Key> pressed_;   // its effect is not in the picture yet
    std::optional<Effect> effect_;
    Moment effect_at_{};
    double watts_ = 0.0;  // the model's, since `at_`
    Moment at_{};
    std::optional<double> measured_;  // the real battery's power since the last run
    PowerHistory history_;
    std::optional<Moment> look_;
    Moment pause_ = kFirstLook;
};

}  // namespace happe::ui
