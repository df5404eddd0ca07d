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

// The machine that the loop runs on: the kernel's cpufreq, or, while happed only observes, a simulated one with this
// machine's work. The loop sees either as its two ports. Runs of a kernel condition borrow it.
class Hardware {
public:
    using Control = std::unique_ptr<CpufreqControl>;

    // `cpus`: the kernel's directory; `stat`: the kernel's file of CPU times; `found`: the file of what was found on
    // the machine.
    Hardware(std::filesystem::path cpus, const std::filesystem::path& stat, std::filesystem::path found)
        : cpufreq_(std::move(cpus)), found_(std::move(found)), proc_stat_(stat) {}
    Hardware(const Hardware&) = delete;
    Hardware& operator=(const Hardware&) = delete;
    ~Hardware() = default;

    // Restores the changes that an earlier happed could not restore.
    [[nodiscard]] Status restore();

    // The hardware as the configuration asks for it now. Null where there is no cpufreq and the configuration only
    // observes.
    [[nodiscard]] Result<Control> open(const Configuration& configuration);

    // Replaces the machine, which must be released, and which no loop may use any more.
    void take(Control control, bool observe);

    // From the first take() on.
    [[nodiscard]] UtilisationSource& utilisation();
    [[nodiscard]] FrequencyControl& frequency() const;
    [[nodiscard]] bool observes() const { return borrowed_ != nullptr; }
    [[nodiscard]] const char* backend() const;  // as on the bus

    // As in CpufreqControl. A machine that is only observed is never contested, changed, limited or in trouble.
    [[nodiscard]] Status tend(MonoTime now) { return control_ ? control_->tend(now) : Status(); }
    [[nodiscard]] bool contested() const { return control_ && control_->contested(); }
    [[nodiscard]] bool changed() const { return control_ && control_->changed(); }
    [[nodiscard]] bool replaced() const { return control_ && control_->replaced(); }
    [[nodiscard]] std::string scene() const { return control_ ? control_->scene() : std::string(); }
    [[nodiscard]] std::span<const PolicyError> errors() const {
        return control_ ? control_->errors() : std::span<const PolicyError>();
    }
    [[nodiscard]] std::vector<PolicyLimits> limits() const {
        return control_ ? control_->limits() : std::vector<PolicyLimits>();
    }

    // As in CpufreqControl. A machine that is only observed takes none.
    void prefer(const std::string& epp);
    [[nodiscard]] Status takes(const std::string& epp) const;

    // Until release() the machine is a kernel condition's. Not while it only observes.
    [[nodiscard]] Status lend(const RunCondition& condition, const RunPlan& plan);
    [[nodiscard]] bool lent() const { return lent_; }

    // The machine is as happed found it.
    [[nodiscard]] Status release();

    [[nodiscard]] MachineFacts facts() const { return look_at_machine(cpufreq_, backend()); }

private:
    Cpupower cpufreq_;
    std::filesystem::path found_;
    ProcStat proc_stat_;
    Control control_;                            // null while observing
    std::unique_ptr<BorrowedMachine> borrowed_;  // null while governing
    bool lent_ = false;
};

}  // namespace happe
