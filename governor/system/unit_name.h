// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace happe {

// The application's id in the name of a user's unit, unescaped, and whether only the unit decides (Flatpak, snap).
struct UnitName {
    std::string application;
    bool decides = false;
    bool operator==(const UnitName&) const = default;
};

// Empty if the unit names no application. "app[-LAUNCHER]-ID-RANDOM.scope", "app[-LAUNCHER]-ID[@RANDOM].service":
// https://systemd.io/DESKTOP_ENVIRONMENTS. Chromium and Electron write "app-ID-PID.scope" without escaping the dashes
// of ID. So the first word is a launcher only if it is one that we know; everything else belongs to ID.
[[nodiscard]] std::optional<UnitName> application_of_unit(std::string_view unit);

}  // namespace happe
