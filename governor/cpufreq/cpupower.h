// SPDX-License-Identifier: GPL-2.0-or-later
// The kernel's cpufreq through libcpupower, and through sysfs where that lacks something or is too slow. Every call of
// libcpupower is in cpupower.cpp, since its names differ between versions.
#pragma once

#include "governor/cpufreq/cpufreq.h"
#include "governor/cpufreq/sysfs_file.h"

#include <filesystem>

namespace happe {

class Cpupower final : public Cpufreq {
public:
    // `root`: of the files that are not libcpupower's, whose own root is this one, always.
    explicit Cpupower(std::filesystem::path root = "/sys/devices/system/cpu") : root_(std::move(root)) {}

    [[nodiscard]] Result<std::vector<CpufreqPolicy>> policies() const override;
    [[nodiscard]] Result<std::optional<CpufreqSettings>> settings(PolicyId policy) const override;
    [[nodiscard]] Result<std::optional<Khz>> frequency(PolicyId policy, Frequency which) const override;
    [[nodiscard]] Status set_frequency(PolicyId policy, Frequency which, Khz khz) override;
    [[nodiscard]] Status set_governor(PolicyId policy, const std::string& governor) override;
    [[nodiscard]] Result<Tunables> tunables(PolicyId policy, const std::string& governor) const override;
    [[nodiscard]] Status set_tunable(PolicyId policy, const std::string& governor, const std::string& name,
                                     const std::string& value) override;

private:
    [[nodiscard]] std::filesystem::path directory(PolicyId policy) const;
    [[nodiscard]] std::filesystem::path tunables_of(PolicyId policy, const std::string& governor) const;
    [[nodiscard]] Result<bool> is_on_line(PolicyId policy) const;
    [[nodiscard]] Result<std::vector<PolicyId>> ids() const;
    [[nodiscard]] Result<std::optional<CpufreqPolicy>> policy(PolicyId id) const;
    [[nodiscard]] Result<sysfs::Attribute*> attribute(PolicyId policy, Frequency which) const;

    std::filesystem::path root_;
    mutable std::map<std::pair<PolicyId, Frequency>, sysfs::Attribute> attributes_;  // those kept open
};

}  // namespace happe
