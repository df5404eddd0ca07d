// SPDX-License-Identifier: GPL-2.0-or-later
// Hyprland's two sockets (wiki.hypr.land, "IPC"): events as lines "NAME>>DATA", answers in JSON.
#pragma once

#include "ui/agent/focus.h"

#include <string_view>

namespace happe::ui {

// Reads events, and finds whether another window may be in front.
class HyprlandReader {
public:
    static constexpr std::size_t kMostLine = 1U << 16U;

    // An error: a line is longer than any of Hyprland's.
    [[nodiscard]] tl::expected<bool, std::string> moved_by(std::string_view bytes);

private:
    std::string line_;
};

// The answer to j/activewindow; none if no window is in front. An error: it is no such answer.
[[nodiscard]] tl::expected<std::optional<Focus>, std::string> focus_in_answer(std::string_view json);

}  // namespace happe::ui
