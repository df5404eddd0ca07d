// SPDX-License-Identifier: GPL-2.0-or-later
// Sets frequencies through the kernel's cpufreq: docs/limits.md; docs/daemon.md, "Back-ends" and "Restoring the
// machine".
#pragma once

#include "governor/core/frequency_control.h"
#include "governor/cpufreq/cpufreq.h"
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
    Tunables tunables;  // the tunables to set; others stay as they are
};

struct ControlSettings {
    std::filesystem::path found;     // the file that records the state to restore
    std::map<Khz, Khz> speeds;       // real speeds of listed frequencies, if they differ from the driver's numbers
    std::size_t steps = kEvenSteps;  // the number of steps if the driver lists no frequencies
};

// Why HAPPE does not govern a policy; without a policy, why it governs none.
struct PolicyError {
    std::optional<PolicyId> policy;
    std::string message;
    bool operator==(const PolicyError&) const = default;
};

// The first error, and the policies with further errors. Empty without errors.
[[nodiscard]] std::string in_words(std::span<const PolicyError> errors);

// For the journal: the limited policies and their limits.
[[nodiscard]] std::string in_words(std::span<const PolicyLimits> limits);

// True if a ladder, or the back-end, that belongs to one belongs to the other.
[[nodiscard]] bool is_same(const CpufreqPolicy& a, const CpufreqPolicy& b);

class CpufreqControl final : public FrequencyControl {
public:
    // More retakes than this within this time mean that another program competes, and HAPPE gives up.
    static constexpr std::size_t kMostRetakes = 3;
    static constexpr Micros kRetakesWithin = std::chrono::seconds{60};
    static constexpr Micros kDriverInterval = std::chrono::milliseconds{900};

    // Takes the policies that are on line now. An error if there are none, or if their ladders are invalid. `cpufreq`
    // must outlive the object.
    static Result<std::unique_ptr<CpufreqControl>> open(Cpufreq& cpufreq, ControlSettings settings);

    CpufreqControl(const CpufreqControl&) = delete;
    CpufreqControl& operator=(const CpufreqControl&) = delete;
    ~CpufreqControl() override;  // releases if it has control; call release() to get errors

    [[nodiscard]] Backend backend() const { return backend_; }
    [[nodiscard]] std::span<const Policy> policies() const override { return policies_; }

    // While HAPPE controls the frequencies: the request to the driver within all limits (SETSPEED) or the cap in force
    // (CAP), as keep_up() or set() last saw it. Otherwise the frequency that the kernel reports.
    [[nodiscard]] std::optional<Khz> current(PolicyId policy) const override;

    [[nodiscard]] std::optional<Khz> limit(PolicyId policy) const override;

    // CpufreqPolicy::efficient.
    [[nodiscard]] std::optional<Khz> efficient(PolicyId policy) const;

    // While HAPPE controls caps: the speeds below them that the kernel measured. Asks the busiest policies first, and
    // no more once their work alone is the highest level. Does not ask the idle ones.
    void measure_speeds(std::span<PolicySample> domain) override;

    // Takes control of all policies or of none. Does nothing if HAPPE has control. Ends a contest.
    [[nodiscard]] Status acquire() override;

    // Sets frequencies within the limits of others; keep_up() follows changes of these limits. An error without
    // control. Does nothing during a contest. Leaves policies that are off line, or that another program took, to
    // keep_up().
    [[nodiscard]] Status set(PolicyId policy, Khz khz) override;

    // The energy performance preference for the next acquire(), lend() or fix(); empty: leave it unchanged. If it is
    // `required`, HAPPE governs all policies with it or none. Otherwise it governs without it where it cannot be set,
    // and keep_up() sets it once the governor allows.
    void prefer(std::string epp, bool required = false) {
        epp_ = std::move(epp);
        epp_required_ = required;
    }

    // Call when another program sets the preference from now on. release() then leaves it as it is.
    [[nodiscard]] Status leave_epp();

    // Takes the limits that the other object, now released, has given back: while boost is off, the kernel does not
    // show the higher ones.
    void inherit(const CpufreqControl& released) { given_ = released.given_; }

    // Why the policies that HAPPE governs without the preference lack it.
    [[nodiscard]] std::span<const PolicyError> epp_errors() const { return epp_errors_; }

    // Returns an error with the reason if the drivers would refuse this preference now.
    [[nodiscard]] Status takes(const std::string& epp) const;

    // Undoes acquire(), lend() or fix(), except where another program has made later changes. Changes to policies that
    // are off line, or that refuse, stay in the file for the next release(), acquire() or restore_found(). Ends a
    // contest.
    [[nodiscard]] Status release() override;

    // Sets a study's condition, which release() undoes: a governor of the kernel, or every policy at step `step` of its
    // ladder (0 is the lowest; a shorter ladder uses its top). Each call first undoes the previous one.
    [[nodiscard]] Status lend(const ScalingGovernor& governor);
    [[nodiscard]] Status fix(std::size_t step);

    // Call once a period, before the turn. Follows the limits of others, and repeats settings that hotplug, resume or
    // another program has changed. Returns an error if that fails, and once when HAPPE gives up. After giving up, HAPPE
    // has restored all policies that others have not taken, and contested() is true until acquire(), lend(), fix() or
    // release().
    [[nodiscard]] Status keep_up(MonoTime now);
    [[nodiscard]] bool contested() const { return contested_; }

    // The policies with limits by others below the driver's range, as keep_up() or acquire() last saw them.
    [[nodiscard]] std::vector<PolicyLimits> limits() const;

    // The present governors and speeds. A program that governs changes them, so a comparison reveals it.
    [[nodiscard]] std::string scene() const;

    // Why HAPPE does not govern every policy: the errors of acquire(), or of keep_up() and of later settings.
    [[nodiscard]] std::span<const PolicyError> errors() const { return errors_; }

    // True if keep_up() saw another driver or mode of the driver, or another range or table: release this object and
    // open another. With another driver this object sets nothing any more. With another range it keeps its ladders.
    [[nodiscard]] bool outdated() const { return replaced_ || reranged_; }

    // True if a new policy is on line, or a known one has changed (another driver, boost switched). Release this object
    // and open another.
    [[nodiscard]] bool changed() const;

private:
    enum class Mode : std::uint8_t { Released, Governing, Lent };
    enum class State : std::uint8_t {
        Ours,
        OffLine,
        Lost,   // by hotplug: never a contest
        Taken,  // by another program
    };

    // The state of a policy under control. Its entry in found_ holds its earlier state, unless it was off line at the
    // start.
    struct Hold {
        PolicyId id;
        State state = State::Ours;
        std::optional<Khz> wanted;  // the target or cap that the loop set
        std::optional<Khz> asked;   // our last write; empty after another program's write
        std::optional<Khz> shown;   // SETSPEED: the value that the kernel made of it
        std::optional<Khz> latest;  // the value shown at the last look, or expected after our write
        std::optional<Khz> before;  // CAP: the value before our last write, which the file may still show
        std::optional<Khz> probed;  // CAP: the limit whose owner we are finding out
        Khz floor;                  // scaling_min_freq as last seen
        Khz ceiling;                // scaling_max_freq as last seen, if we do not write it
        bool floor_hidden = false;  // CAP: our cap hides the real floor
        std::optional<Khz> ran;     // CAP: the speed below the present cap, as last measured
        Tunables tunables;          // the tunables that we set, with the kernel's values
        std::optional<Khz> theirs;  // the other program's value at the last look
        std::string what;           // description of the other program's change
        bool preferred = false;     // HAPPE has tried to set the preference
    };

    CpufreqControl(Cpufreq& cpufreq, ControlSettings settings, std::vector<CpufreqPolicy> known,
                   std::vector<Policy> policies);

    [[nodiscard]] FoundPolicy* found(PolicyId policy);
    [[nodiscard]] const FoundPolicy* found(PolicyId policy) const;
    [[nodiscard]] Hold* hold(PolicyId policy);
    [[nodiscard]] const CpufreqPolicy& known(const Hold& hold) const;
    [[nodiscard]] Status take(Mode mode, ScalingGovernor ours);
    [[nodiscard]] Status hand_back();
    [[nodiscard]] Status note(Hold& hold);
    [[nodiscard]] Status takes(const CpufreqPolicy& policy, const std::string& epp) const;
    [[nodiscard]] Status note_epp(FoundPolicy& entry) const;
    [[nodiscard]] bool is_hidden(const Hold& hold) const;
    void give_back_late(Hold& hold);
    [[nodiscard]] Status set_epps();
    [[nodiscard]] Status seize(Hold& hold);
    [[nodiscard]] Status set_tunables(Hold& hold);
    [[nodiscard]] Status bring_about(Hold& hold);
    [[nodiscard]] Status bring_about_speed(Hold& hold);
    [[nodiscard]] Status bring_about_cap(Hold& hold);
    [[nodiscard]] Status write_speed(Hold& hold);
    [[nodiscard]] Status probe(Hold& hold, Khz limit);
    [[nodiscard]] Status write_cap(Hold& hold, Khz khz);
    [[nodiscard]] Khz highest_now(const Hold& hold) const;
    [[nodiscard]] Khz highest_cap(const Hold& hold) const;
    [[nodiscard]] Khz within_limits(const Hold& hold) const;
    [[nodiscard]] bool has_driver(MonoTime now);
    void look_at_outline(const CpufreqPolicy& known, std::string& last);
    [[nodiscard]] Status look(Hold& hold);
    [[nodiscard]] Status look_at_speed(Hold& hold);
    [[nodiscard]] Status look_at_cap(Hold& hold);
    void see_cap(Hold& hold, Khz seen);
    bool is_answered(Hold& hold, Khz seen);
    void see_floor(Hold& hold, Khz seen);
    [[nodiscard]] PolicyLimits limits_of(const Hold& hold) const;
    [[nodiscard]] std::optional<Khz> measure(Hold& hold);
    [[nodiscard]] std::uint64_t work_below_cap(const Hold& hold, const PolicySample& sample) const;
    [[nodiscard]] Status look_closer(Hold& hold);
    [[nodiscard]] Status compare(Hold& hold, const std::string& governor);
    [[nodiscard]] Status insist(Hold& hold, Khz seen);
    [[nodiscard]] bool may_retake(MonoTime now);
    [[nodiscard]] Status retake(Hold& hold);
    [[nodiscard]] Status give_up();
    // Keep an error for the end of the turn.
    void heed(std::optional<PolicyId> policy, const Status& status);
    [[nodiscard]] Status heeded(std::optional<PolicyId> policy, Status status);

    Cpufreq& cpufreq_;
    ControlSettings settings_;
    std::vector<CpufreqPolicy> known_;
    std::vector<Policy> policies_;
    Backend backend_;
    Cpufreq::Frequency file_;         // the file that we write
    Cpufreq::Frequency speedometer_;  // the file with the running speed

    Mode mode_ = Mode::Released;
    ScalingGovernor ours_;     // our governor for every policy; without a name, governors stay unchanged
    std::vector<Hold> holds_;  // one for each of policies_
    FoundState found_;
    std::map<PolicyId, Khz> given_;  // the limits that HAPPE found, by its last release
    std::deque<MonoTime> retakes_;
    bool contested_ = false;
    std::string epp_;
    bool epp_required_ = false;
    std::vector<PolicyError> epp_errors_;
    std::optional<MonoTime> driver_seen_;
    std::vector<std::string> outlines_;  // of known_, as last seen
    std::size_t outlined_ = 0;           // the index of the last one that we looked at
    bool replaced_ = false;
    bool reranged_ = false;
    bool unsaved_ = false;  // found_ differs from the file
    std::vector<PolicyError> errors_;
    std::vector<PolicySample*> by_work_;  // a member so that its memory is reused
};

}  // namespace happe
