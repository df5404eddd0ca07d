// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/indicator/options.h"

#include "governor/cli/description.h"
#include "ui/overlay/model_document.h"

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

const std::map<std::string, FocusBy> kSources{
    {"auto", FocusBy::Auto}, {"sway", FocusBy::Sway},   {"hyprland", FocusBy::Hyprland},
    {"kwin", FocusBy::KWin}, {"gnome", FocusBy::Gnome}, {"toplevel", FocusBy::Toplevel},
    {"x11", FocusBy::X11}};

// An option that takes one of some words.
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
    "  happe-indicator --corner top-right         what is left of the battery, in another corner\n"
    "  happe-indicator --battery simulated        the study's battery: two hours at the lowest frequency\n"
    "  happe-indicator --status                   what it would show now, in words\n"
    "  happe-indicator --window                   what HAPPE does and why, and what it has learned\n"
    "\n"
    "Where it is shown: above every window, full screen or not, and not there for pointer and keyboard. On X11, and on\n"
    "Wayland where the compositor has wlr-layer-shell (sway, Hyprland, KWin and others). GNOME on Wayland has none: there\n"
    "a tray icon takes its place, or --where x11 shows it through XWayland, above programs that use XWayland, too. Where\n"
    "nothing can be shown, it still tells happed which application is in front.\n"
    "\n"
    "happed learns for each application by itself, so it is told which one is in front; where nobody says so, it takes\n"
    "everything for the desktop.\n"
    "\n"
    "Files: ~/.config/happe/indicator.toml has the same options, by their long names: corner = \"top-right\". The command\n"
    "line has the last word.\n"
    "\n"
    "Exit status: 0 ended as asked, 64 wrong usage, 65 a file says something wrong, 66 a file cannot be read, 69 it can\n"
    "neither show anything nor tell happed what is in front, 70 a mistake in happe-indicator, 74 standard output cannot\n"
    "be written.";

}  // namespace

std::string settings_file() {
    return (QStandardPaths::writableLocation(QStandardPaths::GenericConfigLocation) +
            QStringLiteral("/happe/indicator.toml"))
        .toStdString();
}

void define(CLI::App& program, Options& options) {
    add_choice(program, "--corner", options.corner, kCorners, "The corner of the screen it is shown in");
    program
        .add_option(
            "--screen", options.screen,
            "The screen it is shown on, as xrandr or `swaymsg -t get_outputs` names it; the first one if it is\n"
            "not there")
        ->type_name("NAME");
    add_choice(program, "--battery", options.battery, kBatteries,
               "The battery whose remaining time is shown: this machine's, as UPower has it, or the study's simulated\n"
               "one");
    program
        .add_option("--model", options.model,
                    "A power model of this machine, as profiles/schema/power-model.schema.json has it. It drives the\n"
                    "simulated battery in place of the study's ThinkPad T61, and tells what a key gives with the real\n"
                    "one")
        ->type_name("FILE")
        ->check(CLI::ExistingFile);
    add_choice(program, "--theme", options.theme, kThemes, "Dark, light, or as the desktop is");
    add_choice(program, "--where", options.where, kPlaces, "The window system it is shown on, or a tray icon");
    add_choice(program, "--focus", options.focus, kSources,
               "Who says which application is in front, or the best that this session has");
    program.add_flag("--no-overlay", options.no_overlay,
                     "Show nothing: only tell happed which application is in front");
    program.add_flag(
        "--window", options.window,
        "Open the owner's window in place of all this: what HAPPE does and why, what it has learned, pause");
    auto* const status = program.add_flag(
        "--status", options.status, "Print what would be shown now, in words, and who says what is in front, and end");
    program.add_flag("--json", options.json, "With --status: print it as JSON")->needs(status);
    program.set_config("--config", "", "Another file with settings")->type_name("FILE")->take_last();
    program.allow_config_extras(CLI::config_extras_mode::error);
    program.set_version_flag("--version", "happe-indicator " HAPPE_VERSION);
    program.footer(kFooter);
    add_description(program, {.section = 1, .version = HAPPE_VERSION, .more = "See also: happectl(1), happed(8)"});
}

tl::expected<OverlayState, std::string> state_of(const Options& options) {
    std::optional<PowerModel> own;
    if (options.model) {
        auto read = read_model(QString::fromStdString(*options.model));
        if (!read) {
            return tl::unexpected(read.error());
        }
        own = *std::move(read);
    }
    return options.battery == Battery::Simulated ? OverlayState::simulated(std::move(own))
                                                 : OverlayState::real(std::move(own));
}

}  // namespace happe::ui
