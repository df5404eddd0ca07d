// SPDX-License-Identifier: GPL-2.0-or-later
// The kernel's cpufreq through libcpupower, and directly through sysfs for what libcpupower lacks or does too slowly.
// Only cpupower.cpp calls libcpupower, because its names differ between versions.
#pragma once

#include "governor/cpufreq/cpufreq.h"
#include "governor/cpufreq/sysfs_file.h"

#include <array>
#include <filesystem>
#include <optional>
#include <vector>

namespace happe {

class Cpupower final : public Cpufreq {
public:
    // `root`: the directory of the files that we read directly. libcpupower always uses its own, which is the default
    // here.
    explicit Cpupower(std::filesystem::path root = "/sys/devices/system/cpu") : root_(std::move(root)) {}

    [[nodiscard]] Result<std::vector<CpufreqPolicy>> policies() const override;
    [[nodiscard]] Result<std::optional<CpufreqPolicy>> policy(PolicyId id) const override;
    [[nodiscard]] std::vector<Khz> table(PolicyId policy) const override;
    [[nodiscard]] Result<std::optional<CpufreqSettings>> settings(PolicyId policy) const override;
    [[nodiscard]] Result<std::optional<std::string>> outline(PolicyId policy) const override;
    [[nodiscard]] Result<std::optional<Khz>> frequency(PolicyId policy, Frequency which) const override;
    [[nodiscard]] Status set_frequency(PolicyId policy, Frequency which, Khz khz) override;
    void wait_for_maximum() override;
    [[nodiscard]] Status set_governor(PolicyId policy, const std::string& governor) override;
    [[nodiscard]] Result<std::optional<std::string>> epp(PolicyId policy) const override;
    [[nodiscard]] Status set_epp(PolicyId policy, const std::string& epp) override;
    [[nodiscard]] Result<Tunables> tunables(PolicyId policy, const std::string& governor) const override;
    [[nodiscard]] Status set_tunable(PolicyId policy, const std::string& governor, const std::string& name,
                                     const std::string& value) override;

private:
    [[nodiscard]] std::filesystem::path directory(PolicyId policy) const;
    [[nodiscard]] std::filesystem::path tunables_of(PolicyId policy, const std::string& governor) const;
    [[nodiscard]] Result<bool> is_on_line(PolicyId policy) const;
    [[nodiscard]] Result<std::vector<PolicyId>> ids() const;
    [[nodiscard]] sysfs::Attribute& attribute(PolicyId policy, Frequency which) const;

    std::filesystem::path root_;
    // The files that stay open, by policy and Frequency. A machine has hundreds, and HAPPE reads each one every period.
    // They lie in one place, so that the reads touch few cache lines.
    mutable std::vector<std::array<std::optional<sysfs::Attribute>, kFrequencies>> attributes_;
    mutable std::size_t kept_ = 0;              // the number of open files
    mutable sysfs::Attribute passing_{{}};      // the last file that does not stay open
    mutable std::optional<PolicyId> outlined_;  // the last policy that we looked at, and its files
    mutable std::vector<sysfs::Attribute> outline_;
};

}  // namespace happe
