// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "governor/core/units.h"
#include "governor/cpufreq/sysfs_file.h"

#include <optional>
#include <string>

namespace happe {

// The CPU time of the application in front, from the file cpu.stat of its cgroup: the kernel's
// Documentation/admin-guide/cgroup-v2.rst.
class FrontTime {
public:
    // The CPU time that this cgroup ("/user.slice/...") has used since the last call for the same one. 0 for an empty
    // name, for another cgroup than at the last call, and where the kernel tells nothing.
    Micros used_by(const std::string& cgroup);

private:
    std::string cgroup_;
    std::optional<sysfs::Attribute> file_;
    std::optional<Micros> before_;
};

}  // namespace happe
