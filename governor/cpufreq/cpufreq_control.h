// SPDX-License-Identifier: GPL-2.0-or-later
// Frequencies by the kernel's cpufreq: docs/daemon.md, "Back-ends" and "What is found is given back".
#pragma once

#include "governor/core/frequency_control.h"
#include "governor/cpufreq/cpufreq.h"
#include "governor/cpufreq/cpufreq_ladder.h"
#include "governor/cpufreq/found_state.h"

#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace happe {

struct ScalingGovernor {
    std::string name;
    Tunables tunables;  // to be set; the others stay as they are
};

struct ControlSettings {
    std::filesystem::path found;  // the file of what was found
    std::map<Khz, Khz> speeds;    // real speeds of listed frequencies, where the driver's name for them differs
};

class CpufreqControl final : public FrequencyControl {
public:
    // More retakes than this within this time are a fight, and HAPPE gives up.
    static constexpr std::size_t kMostRetakes = 3;
    static constexpr Micros kRetakesWithin = std::chrono::seconds{60};

    // With the policies that are on line now. An error if there are none, or their ladders make no sense. `cpufreq`
    // outlives the object.
    static Result<std::unique_ptr<CpufreqControl>> open(Cpufreq& cpufreq, ControlSettings settings);

    CpufreqControl(const CpufreqControl&) = delete;
    CpufreqControl& operator=(const CpufreqControl&) = delete;
    ~CpufreqControl() override;  // gives back what is left; call release() to hear of errors

    [[nodiscard]] Backend backend() const { return backend_; }
    [[nodiscard]] std::span<const Policy> policies() const override { return policies_; }

    // While frequencies are ours, what the driver was asked for within the kernel's limits (SETSPEED), or the cap
    // (CAP), as tend() or set() last saw it. Else what the kernel says it runs at.
    [[nodiscard]] std::optional<Khz> current(PolicyId policy) const override;

    // All policies or none. Does nothing if they are ours. Ends a contest.
    [[nodiscard]] Status acquire() override;

    // An error if the frequencies aren't ours. Does nothing while contested; what another program has taken, or is off
    // line, is left to tend().
    [[nodiscard]] Status set(PolicyId policy, Khz khz) override;

    // Undoes acquire(), lend() or fix(), but for what another program has changed. What is off line stays in the file,
    // and what was refused too, for the next release(), acquire() or restore_found(). Ends a contest.
    [[nodiscard]] Status release() override;

    // A study's conditions, undone by release(): a kernel's governor, or every policy at its ladder's entry `step`, the
    // lowest being 0 (the top where it has fewer). Each undoes what was before.
    [[nodiscard]] Status lend(const ScalingGovernor& governor);
    [[nodiscard]] Status fix(std::size_t step);

    // Once a period, before the turn: sets again what hotplug, resume or another program has changed. An error if it
    // can't be, and once when HAPPE gives up: then what others have not taken is given back, and contested() holds
    // until acquire(), lend(), fix() or release().
    [[nodiscard]] Status tend(MonoTime now);
    [[nodiscard]] bool contested() const { return contested_; }

    // Why HAPPE does not govern every policy: the first error of acquire(), or of tend() and what was set since, and
    // how many more there were. Empty if there was none.
    [[nodiscard]] std::string trouble() const;

    // A policy is on line that wasn't known, or one is not what it was (another driver, boost switched): release this
    // object and open another.
    [[nodiscard]] bool changed() const;

private:
    enum class Mode : std::uint8_t { Released, Governing, Lent };
    enum class State : std::uint8_t {
        Kept,
        OffLine,
        Lost,   // to hotplug: never a fight
        Taken,  // by another program
    };

    // What we do with a policy. Its entry in found_ says what it was; one that was off line from the first has none.
    struct Hold {
        PolicyId id;
        State state = State::Kept;
        std::optional<Khz> wanted;  // the target or cap
        std::optional<Khz> shown;   // what the kernel made of it
        std::optional<Khz> latest;  // what was shown when it was last looked at or written
        Tunables tunables;          // those we set, and what the kernel made of them
        std::optional<Khz> theirs;  // what another program had set instead when it was last looked at
        std::string what;           // what another program did
    };

    CpufreqControl(Cpufreq& cpufreq, ControlSettings settings, std::vector<CpufreqPolicy> known,
                   std::vector<Policy> policies);

    [[nodiscard]] FoundPolicy* found(PolicyId policy);
    [[nodiscard]] Hold* hold(PolicyId policy);
    [[nodiscard]] Status take(Mode mode, ScalingGovernor ours);
    [[nodiscard]] Status hand_back();
    [[nodiscard]] Status note_all();
    [[nodiscard]] Status note(Hold& hold);
    [[nodiscard]] Status seize(Hold& hold);
    [[nodiscard]] Status set_tunables(Hold& hold);
    [[nodiscard]] Status write(Hold& hold);
    [[nodiscard]] Result<Khz> within_limits(const Hold& hold);
    [[nodiscard]] Status look(Hold& hold);
    [[nodiscard]] Status look_closer(Hold& hold);
    [[nodiscard]] Status compare(Hold& hold, const std::string& governor);
    [[nodiscard]] Status insist(Hold& hold, Khz seen);
    [[nodiscard]] bool may_retake(MonoTime now);
    [[nodiscard]] Status retake(Hold& hold);
    [[nodiscard]] Status give_up();
    Status heeded(Status status);
    void forget_trouble();

    Cpufreq& cpufreq_;
    ControlSettings settings_;
    std::vector<CpufreqPolicy> known_;
    std::vector<Policy> policies_;
    Backend backend_;
    Cpufreq::Frequency file_;  // the one we write

    Mode mode_ = Mode::Released;
    ScalingGovernor ours_;     // what we set on every policy; no name if their governors are left alone
    std::vector<Hold> holds_;  // one for each of policies_
    FoundState found_;
    std::deque<MonoTime> retakes_;
    bool contested_ = false;
    std::string trouble_;
    std::size_t more_troubles_ = 0;
};

}  // namespace happe
