// SPDX-License-Identifier: GPL-2.0-or-later
// The options of happe-indicator, on its command line and in a file.
#pragma once

#include "ui/agent/sources/sources.h"
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
    std::string screen;  // empty: the first screen
    Battery battery = Battery::Real;
    std::optional<std::string> model;  // a file
    Theme theme = Theme::Auto;
    Where where = Where::Auto;
    FocusBy focus = FocusBy::Auto;
    bool details = false;
    bool no_overlay = false;
    bool window = false;
    bool status = false;
    bool json = false;
};

// Defines the program's name, texts and options. Its parse fills in `options`.
void define(CLI::App& program, Options& options);

// $XDG_CONFIG_HOME/happe/indicator.toml, or the same in ~/.config. The program reads it unless the user names another
// file.
[[nodiscard]] std::string settings_file();

// The overlay's state for these options. An error names the file of the power model.
[[nodiscard]] tl::expected<OverlayState, std::string> state_of(const Options& options);

}  // namespace happe::ui
