// SPDX-License-Identifier: GPL-2.0-or-later
// docs/decisions.md says why this writes settings and does not call GNOME Shell.
#include "governor/happectl/setup/gnome.h"

#include "governor/happectl/setup/setup_text.h"
#include "governor/happectl/waiter.h"
#include "governor/system/file_descriptor.h"
#include "governor/system/files.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <pwd.h>
#include <unistd.h>
#include <array>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <vector>

namespace happe::ctl {
namespace {

constexpr const char* kUuid = "happe@happe.org";
constexpr const char* kSchema = "org.gnome.shell";
constexpr const char* kEnabled = "enabled-extensions";
constexpr const char* kDisabled = "disabled-extensions";

std::optional<uid_t> uid_in(const char* variable) {
    const char* const value = std::getenv(variable);
    const std::string_view text = value != nullptr ? value : "";
    uid_t uid = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), uid);
    return error == std::errc() && end == text.data() + text.size() && uid != 0 ? std::optional(uid) : std::nullopt;
}

// Leaves only the caller's rights, for good, and the environment of the caller's session.
std::vector<std::string> as_caller(const Caller& caller, const std::vector<std::string>& command) {
    const char* const path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): nothing changes the environment
    std::vector<std::string> words{"setpriv", "--no-new-privs"};
    if (::geteuid() != caller.uid) {
        words.insert(words.end(),
                     {fmt::format("--reuid={}", caller.uid), fmt::format("--regid={}", caller.gid), "--init-groups"});
    }
    words.insert(words.end(), {"env", "--ignore-environment", "--chdir=/", fmt::format("PATH={}", path ? path : ""),
                               "HOME=" + caller.home, "USER=" + caller.name, "LOGNAME=" + caller.name, "LC_ALL=C.UTF-8",
                               "XDG_RUNTIME_DIR=" + caller.runtime.string(),
                               "DBUS_SESSION_BUS_ADDRESS=unix:path=" + (caller.runtime / "bus").string()});
    words.insert(words.end(), command.begin(), command.end());
    return words;
}

// None if root itself called happectl, or the person has no session bus.
std::optional<Caller> find_caller(const Root& root) {
    const auto by_sudo = uid_in("SUDO_UID");
    const auto uid = by_sudo ? by_sudo : uid_in("PKEXEC_UID");
    const passwd* const entry = uid ? ::getpwuid(*uid) : nullptr;
    if (entry == nullptr) {
        return std::nullopt;
    }
    Caller caller{entry->pw_name, entry->pw_dir, *uid, entry->pw_gid, root / "run/user" / std::to_string(*uid)};
    return presence(caller.runtime / "bus") == Presence::Present ? std::optional(std::move(caller)) : std::nullopt;
}

// Runs a program as the caller, with the environment of the caller's session, and returns its output. An error if it
// fails; its own messages go to standard error.
Outcome<std::string> run_as(const Caller& caller, const std::vector<std::string>& command) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
        return trouble(EX_OSERR, "cannot make a pipe");
    }
    const FileDescriptor ours(ends[0]);
    FileDescriptor theirs(ends[1]);
    const sigset_t none{};
    const auto child = Child::start(as_caller(caller, command), none, theirs.get());
    if (!child) {
        return pass_on(child);
    }
    theirs = FileDescriptor();
    constexpr std::size_t kLongest = std::size_t{1} << 20U;
    auto said = read_all(ours.get(), kLongest);
    const int status = child->wait();
    return status == 0 && said ? Outcome<std::string>(*std::move(said))
                               : trouble(EX_UNAVAILABLE, fmt::format("{}, run as {}, failed with status {}",
                                                                     fmt::join(command, " "), caller.name, status));
}

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
