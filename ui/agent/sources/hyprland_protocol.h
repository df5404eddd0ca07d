// SPDX-License-Identifier: GPL-2.0-or-later
// Hyprland's two sockets (wiki.hypr.land, "IPC"): events as lines "NAME>>DATA", answers in JSON.
#pragma once

#include "ui/agent/focus.h"

#include <string_view>

namespace happe::ui {

// Reads events, and finds out whether another window may be in front.
class HyprlandReader {
public:
    static constexpr std::size_t kMostLine = 1U << 16U;

    // True if one of the events moves the focus. An error if a line is longer than any of Hyprland's.
    [[nodiscard]] tl::expected<bool, std::string> moved_by(std::string_view bytes);

private:
    std::string line_;
};

// The window in an answer to j/activewindow; none if no window is in front. An error if this is not such an answer.
[[nodiscard]] tl::expected<std::optional<Focus>, std::string> focus_in_answer(std::string_view json);

}  // namespace happe::ui
