// SPDX-License-Identifier: GPL-2.0-or-later
// docs/decisions.md says why this writes settings and does not call GNOME Shell.
#include "governor/happectl/setup/gnome.h"

#include "governor/happectl/setup/setup_text.h"

#include <fmt/format.h>

namespace happe::ctl {
namespace {

constexpr const char* kUuid = "happe@happe.org";
constexpr const char* kSchema = "org.gnome.shell";
constexpr const char* kEnabled = "enabled-extensions";
constexpr const char* kDisabled = "disabled-extensions";

Outcome<bool> runs_gnome_shell(const Caller& caller) {
    const auto said = run_as(caller, {"busctl", "--address=unix:path=" + (caller.runtime / "bus").string(),
                                      "--timeout=5", "call", "org.freedesktop.DBus", "/org/freedesktop/DBus",
                                      "org.freedesktop.DBus", "NameHasOwner", "s", "org.gnome.Shell"});
    return said ? Outcome<bool>(said->starts_with("b true")) : pass_on(said);
}

Outcome<std::string> read_setting(const Caller& caller, const char* name) {
    return run_as(caller, {"gsettings", "get", kSchema, name});
}

// Reads the list again: gsettings succeeds even if dconf cannot write.
Outcome<bool> list_extension(const Caller& caller, const char* setting, bool listed) {
    const auto before = read_setting(caller, setting);
    if (!before || has_word(*before, kUuid) == listed) {
        return before ? Outcome<bool>(true) : pass_on(before);
    }
    const auto wrote = run_as(caller, {"gsettings", "set", kSchema, setting, with_word(*before, kUuid, listed)});
    const auto after = wrote ? read_setting(caller, setting) : pass_on(wrote);
    if (!after) {
        return pass_on(after);
    }
    return has_word(*after, kUuid) == listed
               ? Outcome<bool>(true)
               : trouble(EX_UNAVAILABLE,
                         fmt::format("the setting {} {} of {} did not change", kSchema, setting, caller.name));
}

}  // namespace

Outcome<Gnome> find_gnome(const Root& root) {
    if (presence(root / kExtension) != Presence::Present) {
        return trouble(EX_UNAVAILABLE, "the package happe-gnome-shell-extension is not installed");
    }
    const auto caller = find_caller(root);
    if (!caller) {
        return trouble(EX_UNAVAILABLE, "nobody with a desktop called sudo");
    }
    const auto runs = runs_gnome_shell(*caller);
    if (!runs) {
        return pass_on(runs);
    }
    if (!*runs) {
        return trouble(EX_UNAVAILABLE, fmt::format("GNOME Shell does not run for {}", caller->name));
    }
    const auto disabled = read_setting(*caller, kDisabled);
    return disabled ? Outcome<Gnome>(Gnome{*caller, has_word(*disabled, kUuid)}) : pass_on(disabled);
}

Outcome<bool> switch_extension(const Gnome& gnome, bool on) {
    const auto allowed = list_extension(gnome.caller, kDisabled, !on);
    return allowed ? list_extension(gnome.caller, kEnabled, on) : allowed;
}

}  // namespace happe::ctl
