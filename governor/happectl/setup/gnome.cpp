// SPDX-License-Identifier: GPL-2.0-or-later
// docs/decisions.md says why this writes settings and does not call GNOME Shell.
#include "governor/happectl/setup/gnome.h"

#include "governor/happectl/setup/setup_text.h"
#include "governor/happectl/waiter.h"
#include "governor/system/file_descriptor.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <grp.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <array>
#include <cerrno>
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

std::vector<char*> pointers(std::vector<std::string>& words) {
    std::vector<char*> all;
    all.reserve(words.size() + 1);
    for (std::string& word : words) {
        all.push_back(word.data());
    }
    all.push_back(nullptr);
    return all;
}

// Gives up root for good. True if this process is the caller's now.
bool become(const Caller& caller) {
    const bool already = ::geteuid() == caller.uid;
    return (already || (::initgroups(caller.name.c_str(), caller.gid) == 0 &&
                        ::setresgid(caller.gid, caller.gid, caller.gid) == 0 &&
                        ::setresuid(caller.uid, caller.uid, caller.uid) == 0)) &&
           ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

// In the new process: leaves only the caller's rights before the program starts.
[[noreturn]] void become_program(const Caller& caller, std::vector<std::string> command, int output) {
    std::vector<std::string> environment{"HOME=" + caller.home,
                                         "USER=" + caller.name,
                                         "LOGNAME=" + caller.name,
                                         "LC_ALL=C.UTF-8",
                                         "XDG_RUNTIME_DIR=" + caller.runtime.string(),
                                         "DBUS_SESSION_BUS_ADDRESS=unix:path=" + (caller.runtime / "bus").string()};
    const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing >= 0 && ::dup2(nothing, STDIN_FILENO) >= 0 && ::dup2(output, STDOUT_FILENO) >= 0 && become(caller) &&
        ::chdir("/") == 0) {
        ::execvpe(command.front().c_str(), pointers(command).data(), pointers(environment).data());
    }
    ::_exit(errno == ENOENT ? Child::kNotFound : Child::kNotExecutable);
}

std::string read_all(int file) {
    std::string text;
    std::array<char, 4096> buffer{};
    for (;;) {
        const ssize_t count = ::read(file, buffer.data(), buffer.size());
        if (count > 0) {
            text.append(buffer.data(), static_cast<std::size_t>(count));
        } else if (count == 0 || errno != EINTR) {
            return text;
        }
    }
}

int end_of(pid_t child) {
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : Child::kNotExecutable;
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
    const pid_t child = ::fork();
    if (child == 0) {
        become_program(caller, command, theirs.get());
    }
    theirs = FileDescriptor();
    std::string said = read_all(ours.get());
    const int status = child < 0 ? Child::kNotExecutable : end_of(child);
    return status == 0 ? Outcome<std::string>(std::move(said))
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
