// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "governor/cpufreq/cpufreq_control.h"
#include "governor/cpufreq/cpupower.h"
#include "governor/documents/configuration.h"
#include "governor/happed/runs/run_condition.h"
#include "governor/happed/runs/run_facts.h"
#include "governor/system/borrowed_machine.h"
#include "governor/system/proc_stat.h"

#include <filesystem>
#include <memory>
#include <string>

namespace happe {

// The machine that the loop runs on: the kernel's cpufreq or, while happed only observes, a simulated machine with this
// machine's work. The loop sees either through two ports. Runs with a kernel condition borrow the machine.
class Hardware {
public:
    using Control = std::unique_ptr<CpufreqControl>;

    // `cpus`: the kernel's directory; `stat`: the kernel's file of CPU times; `found`: the file that records the state
    // to restore.
    Hardware(std::filesystem::path cpus, const std::filesystem::path& stat, std::filesystem::path found)
        : cpufreq_(std::move(cpus)), found_(std::move(found)), proc_stat_(stat) {}
    Hardware(const Hardware&) = delete;
    Hardware& operator=(const Hardware&) = delete;
    ~Hardware() = default;

    // Restores the changes that an earlier happed could not restore.
    [[nodiscard]] Status restore();

    // The hardware by the present configuration. Null if the configuration only observes, and there is no cpufreq.
    [[nodiscard]] Result<Control> open(const Configuration& configuration);

    // Replaces the machine. Release the old one first; no loop may use it any more.
    void take(Control control, bool observe);

    // Call take() before these, and everything below.
    [[nodiscard]] UtilisationSource& utilisation();
    [[nodiscard]] FrequencyControl& frequency() const;
    [[nodiscard]] bool observes() const { return borrowed_ != nullptr; }
    [[nodiscard]] const char* backend() const;  // its name on the bus

    // In kHz of the fastest ladder, the frequency below which less speed hardly saves power: its driver's, or else this
    // part of its top.
    [[nodiscard]] Khz floor(std::uint32_t percent) const;

    // As in CpufreqControl. While happed only observes, all of these report that nothing is wrong.
    [[nodiscard]] Status keep_up(MonoTime now) { return control_ ? control_->keep_up(now) : Status(); }
    [[nodiscard]] bool contested() const { return control_ && control_->contested(); }
    [[nodiscard]] bool changed() const { return control_ && control_->changed(); }
    [[nodiscard]] bool outdated() const { return control_ && control_->outdated(); }
    [[nodiscard]] std::string scene() const { return control_ ? control_->scene() : std::string(); }
    [[nodiscard]] std::span<const PolicyError> errors() const {
        return control_ ? control_->errors() : std::span<const PolicyError>();
    }
    [[nodiscard]] std::span<const PolicyError> epp_errors() const {
        return control_ ? control_->epp_errors() : std::span<const PolicyError>();
    }
    [[nodiscard]] std::vector<PolicyLimits> limits() const {
        return control_ ? control_->limits() : std::vector<PolicyLimits>();
    }

    // As in CpufreqControl. While happed only observes, the machine accepts no preference.
    void prefer(const std::string& epp, bool required);
    [[nodiscard]] Status takes(const std::string& epp) const;

    // Another program sets the preference, or none does any more. As long as one does, HAPPE neither sets it nor
    // restores it, and takes() refuses it. Call prefer() next.
    [[nodiscard]] Status leave_epp(bool to_others);
    [[nodiscard]] bool leaves_epp() const { return epp_is_others_; }

    // Sets a kernel condition until release(). Do not call this while happed only observes.
    [[nodiscard]] Status lend(const RunCondition& condition, const RunPlan& plan);
    [[nodiscard]] bool lent() const { return lent_; }

    // Restores the state that happed found.
    [[nodiscard]] Status release();

    [[nodiscard]] MachineFacts facts() const { return look_at_machine(cpufreq_, backend()); }

private:
    Cpupower cpufreq_;
    std::filesystem::path found_;
    ProcStat proc_stat_;
    Control control_;                            // null while observing
    std::unique_ptr<BorrowedMachine> borrowed_;  // null while governing
    bool lent_ = false;
    bool epp_is_others_ = false;
};

}  // namespace happe
