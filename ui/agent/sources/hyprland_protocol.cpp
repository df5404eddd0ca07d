// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/agent/sources/hyprland_protocol.h"

#include "ui/agent/sources/json.h"

#include <algorithm>
#include <array>

namespace happe::ui {
namespace {

bool moves_focus(std::string_view line) {
    static constexpr std::array<std::string_view, 5> kEvents{"activewindowv2>>", "closewindow>>", "workspace>>",
                                                             "focusedmon>>", "activespecial>>"};
    return std::ranges::any_of(kEvents, [&](std::string_view event) { return line.starts_with(event); });
}

}  // namespace

tl::expected<bool, std::string> HyprlandReader::moved_by(std::string_view bytes) {
    line_.append(bytes);
    bool moved = false;
    for (std::size_t end = line_.find('\n'); end != std::string::npos; end = line_.find('\n')) {
        moved |= moves_focus(std::string_view(line_).substr(0, end));
        line_.erase(0, end + 1);
    }
    if (line_.size() > kMostLine) {
        return tl::unexpected("a line of more than " + std::to_string(kMostLine) + " bytes");
    }
    return moved;
}

tl::expected<std::optional<Focus>, std::string> focus_in_answer(std::string_view json) {
    const auto window = object_in(json);
    if (!window) {
        return tl::unexpected(window.error());
    }
    const Focus found{.pid = pid_in(*window), .id = window->value(QLatin1String("class")).toString()};
    return found.pid != 0 ? std::optional(found) : std::nullopt;
}

}  // namespace happe::ui
