// SPDX-License-Identifier: GPL-2.0-or-later
// What happe-indicator is asked to do: its command line, and the same options in a file.
#pragma once

#include "ui/agent/sources/source_choice.h"
#include "ui/indicator/overlay.h"
#include "ui/surfaces/surface.h"

#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace happe::ui {

enum class Battery { Real, Simulated };
enum class Where { Auto, Wayland, X11, Tray };

struct Options {
    Corner corner = Corner::BottomLeft;
    std::string screen;  // empty: the first
    Battery battery = Battery::Real;
    std::optional<std::string> model;  // a file
    Theme theme = Theme::Auto;
    Where where = Where::Auto;
    FocusBy focus = FocusBy::Auto;
    bool no_overlay = false;
    std::optional<bool> shortcuts;  // whether the user wants them from now on
    bool window = false;
    bool status = false;
    bool json = false;
};

// The program's name, what it is and does, and `options` to be filled by its parse.
void define(CLI::App& program, Options& options);

// $XDG_CONFIG_HOME/happe/indicator.toml, or the same in ~/.config: read if it exists and no other is named.
[[nodiscard]] std::string settings_file();

// The state that the options ask for; an error names the model's file.
[[nodiscard]] tl::expected<OverlayState, std::string> state_of(const Options& options);

}  // namespace happe::ui
