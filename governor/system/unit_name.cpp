// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/system/unit_name.h"

#include <strings.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>

namespace happe {
namespace {

// Flatpak, D-Bus, and the desktops for which units are named, in any case.
constexpr std::array kLaunchers{"cosmic", "dbus", "flatpak", "gnome", "hyprland", "kde",     "labwc",
                                "lxqt",   "niri", "river",   "sway",  "uwsm",     "wayfire", "xfce"};

bool is_launcher(std::string_view word) {
    return std::ranges::any_of(kLaunchers,
                               [&](const char* known) { return ::strcasecmp(known, std::string(word).c_str()) == 0; });
}

// Unit names write a byte as \xHH, "-" among them.
std::string unescaped(std::string_view text) {
    std::string result;
    while (!text.empty()) {
        unsigned value = 0;
        if (text.starts_with("\\x") && text.size() >= 4) {
            const auto [end, error] = std::from_chars(text.data() + 2, text.data() + 4, value, 16);
            if (error == std::errc() && end == text.data() + 4) {
                result += static_cast<char>(value);
                text.remove_prefix(4);
                continue;
            }
        }
        result += text.front();
        text.remove_prefix(1);
    }
    return result;
}

bool take_suffix(std::string_view& text, std::string_view suffix) {
    const bool has = text.ends_with(suffix);
    text.remove_suffix(has ? suffix.size() : 0);
    return has;
}

std::optional<UnitName> named(std::string_view escaped, bool decides) {
    std::string application = unescaped(escaped);
    return application.empty() ? std::nullopt : std::optional(UnitName{std::move(application), decides});
}

}  // namespace

std::optional<UnitName> application_of_unit(std::string_view unit) {
    const bool scope = take_suffix(unit, ".scope");
    if (!scope && !take_suffix(unit, ".service")) {
        return std::nullopt;
    }
    if (unit.starts_with("snap.")) {  // snap.NAME.APP-UUID
        unit.remove_prefix(5);
        constexpr std::size_t kUuid = 37;  // with the dash before it
        return unit.size() > kUuid ? named(unit.substr(0, unit.size() - kUuid), true) : std::nullopt;
    }
    if (!unit.starts_with("app-")) {
        return std::nullopt;
    }
    unit.remove_prefix(4);
    // A scope ends with "-RANDOM", a service may with "@RANDOM".
    unit = unit.substr(0, scope ? std::min(unit.rfind('-'), unit.size()) : unit.find('@'));
    const std::string_view first = unit.substr(0, unit.find('-'));
    if (first.size() == unit.size() || !is_launcher(first)) {
        return named(unit, false);
    }
    return named(unit.substr(first.size() + 1), first == "flatpak");
}

}  // namespace happe
