// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happed/front_time.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

namespace happe {
namespace {

// "usage_usec N", the first line.
std::optional<Micros> usage_of(sysfs::Attribute& file) {
    constexpr std::string_view kName = "usage_usec ";
    std::array<char, 4096> buffer{};
    const auto line = file.read(buffer);
    if (!line || !*line || !(*line)->starts_with(kName)) {
        return std::nullopt;
    }
    const std::string_view number = (*line)->substr(kName.size());
    std::int64_t micros = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), micros);
    return error == std::errc() ? std::optional(Micros{micros}) : std::nullopt;
}

}  // namespace

Micros FrontTime::used_by(const std::string& cgroup) {
    if (cgroup != cgroup_) {
        cgroup_ = cgroup;
        before_.reset();
        file_.reset();
        if (!cgroup.empty()) {
            file_.emplace("/sys/fs/cgroup" + cgroup + "/cpu.stat");
        }
    }
    const std::optional<Micros> now = file_ ? usage_of(*file_) : std::nullopt;
    const Micros used = now && before_ ? std::max(*now - *before_, Micros{0}) : Micros{0};
    before_ = now;
    return used;
}

}  // namespace happe
