// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/indicator/options.h"

#include <CLI/CLI.hpp>
#include <QStandardPaths>
#include <map>

namespace happe::ui {
namespace {

const std::map<std::string, Corner> kCorners{{"bottom-left", Corner::BottomLeft},
                                             {"bottom-right", Corner::BottomRight},
                                             {"top-left", Corner::TopLeft},
                                             {"top-right", Corner::TopRight}};
const std::map<std::string, Battery> kBatteries{{"real", Battery::Real}, {"simulated", Battery::Simulated}};
const std::map<std::string, Theme> kThemes{{"auto", Theme::Auto}, {"dark", Theme::Dark}, {"light", Theme::Light}};
const std::map<std::string, Where> kPlaces{
    {"auto", Where::Auto}, {"wayland", Where::Wayland}, {"x11", Where::X11}, {"tray", Where::Tray}};

const std::map<std::string, FocusBy> kSources{{"auto", FocusBy::Auto},
                                              {"kwin", FocusBy::KWin},
                                              {"gnome", FocusBy::Gnome},
                                              {"toplevel", FocusBy::Toplevel},
                                              {"x11", FocusBy::X11}};

// An option whose value is one of `words`.
template <typename Value>
void add_choice(CLI::App& program, const std::string& name, Value& value, const std::map<std::string, Value>& words,
                const std::string& help) {
    std::vector<std::string> names;
    std::string now;
    for (const auto& [word, meaning] : words) {
        names.push_back(word);
        now = meaning == value ? word : now;
    }
    const CLI::callback_t take = [&value, &words](const CLI::results_t& given) {
        value = words.at(given.front());
        return true;
    };
    program.add_option(name, take, help)->check(CLI::IsMember(names))->default_str(now)->type_name("WORD");
}

constexpr const char* kFooter =
    "Examples:\n"
    "  happe-indicator --corner top-right         shows the battery in another corner\n"
    "  happe-indicator --battery simulated        the study's battery: two hours at the lowest frequency\n"
    "  happe-indicator --details                  shows the speed and a graph of the power, too\n"
    "  happe-indicator --status                   prints in words what it would show now\n"
    "  happe-indicator --window                   shows what HAPPE does and why, and what it has learned\n"
    "\n"
    "The overlay lies above every window, full screen or not, and lets pointer and keyboard through. It appears on X11,\n"
    "and on Wayland if the compositor has wlr-layer-shell (sway, Hyprland, KWin and others). GNOME on Wayland lacks it:\n"
    "there GNOME's extension HAPPE shows the overlay. Without the extension a window of XWayland shows it, and without\n"
    "XWayland a tray icon takes its place. If the session can show none of these, happe-indicator still reports to happed\n"
    "which application is in front.\n"
    "\n"
    "happed learns separately for each application, so it must know which one is in front. Without a source that\n"
    "reports it, everything counts as the application desktop.\n"
    "\n"
    "Files: ~/.config/happe/indicator.toml has the same options, by their long names: corner = \"top-right\". The command\n"
    "line takes precedence.\n"
    "\n"
    "Exit status: 0 ended by a signal or after printing, 64 wrong usage, 65 a settings file or power model is wrong,\n"
    "66 a file cannot be read, 69 --window cannot open the window, 70 a mistake in happe-indicator, 74 standard output\n"
    "cannot be written.\n"
    "\n"
    "See also: happectl(1), happed(8)";

}  // namespace

std::string settings_file() {
    return (QStandardPaths::writableLocation(QStandardPaths::GenericConfigLocation) +
            QStringLiteral("/happe/indicator.toml"))
        .toStdString();
}

void define(CLI::App& program, Options& options) {
    add_choice(program, "--corner", options.corner, kCorners, "The corner of the screen");
    program
        .add_option("--screen", options.screen,
                    "The screen, as xrandr or `swaymsg -t get_outputs` names it [the one with the focused\n"
                    "window]; the first screen if the named one is missing")
        ->type_name("NAME");
    add_choice(program, "--battery", options.battery, kBatteries,
               "The battery whose remaining time to show: this machine's, from UPower, or the study's simulated\n"
               "one");
    program
        .add_option(
            "--model", options.model,
            "A power model of this machine, as profiles/schema/power-model.schema.json describes. It drives the\n"
            "simulated battery in place of the study's ThinkPad T61, and gives the effect of a key with the\n"
            "real one")
        ->type_name("FILE")
        ->check(CLI::ExistingFile);
    program.add_flag("--details", options.details,
                     "Show the speed, too, and a graph of the power over the last ten minutes: measured by the real\n"
                     "battery, or the power model's with the simulated one. Without either, and in a study's run,\n"
                     "there is no graph");
    add_choice(program, "--theme", options.theme, kThemes, "Dark, light, or the desktop's choice");
    add_choice(program, "--where", options.where, kPlaces, "Where to appear: a window system, or a tray icon");
    add_choice(program, "--focus", options.focus, kSources,
               "The source that reports the application in front; auto takes the best that this session has");
    program.add_flag("--no-overlay", options.no_overlay,
                     "Show nothing, and only report to happed which application is in front");
    program.add_flag("--window", options.window,
                     "Open the owner's window instead: what HAPPE does and why, what it has learned, pause");
    auto* const status = program.add_flag(
        "--status", options.status,
        "Print in words what the overlay would show now, and which source reports the application in front, and end");
    program.add_flag("--json", options.json, "With --status: print it as JSON")->needs(status);
    program.set_config("--config", "", "Another settings file")->type_name("FILE")->take_last();
    program.allow_config_extras(CLI::config_extras_mode::error);
    program.set_version_flag("--version", "happe-indicator " HAPPE_VERSION);
    program.footer(kFooter);
}

tl::expected<OverlayState, std::string> state_of(const Options& options) {
    std::optional<PowerModel> own;
    if (options.model) {
        auto read = PowerModel::read(*options.model);
        if (!read) {
            return tl::unexpected(read.error());
        }
        own = *std::move(read);
    }
    return options.battery == Battery::Simulated ? OverlayState::simulated(std::move(own), options.details)
                                                 : OverlayState::real(std::move(own), options.details);
}

}  // namespace happe::ui
