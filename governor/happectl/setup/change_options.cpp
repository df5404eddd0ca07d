// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happectl/setup/change_options.h"

#include "governor/happectl/commands.h"
#include "governor/happectl/view.h"

#include <fmt/format.h>
#include <unistd.h>
#include <cstdlib>

namespace happe::ctl {
namespace {

// True if polkit let somebody run this as root. They may change only this machine's file.
bool is_let_by_polkit() {
    return std::getenv("PKEXEC_UID") != nullptr;  // NOLINT(concurrency-mt-unsafe): nothing changes the environment
}

Outcome<bool> may_change(const SetupOptions& options, std::string_view command) {
    if (!options.of_this_machine() && is_let_by_polkit()) {
        return trouble(EX_NOPERM, "pkexec changes this machine's configuration only");
    }
    if (options.of_this_machine() && ::geteuid() != 0) {
        return trouble(EX_NOPERM, fmt::format("only an administrator may do this: sudo happectl {}", command));
    }
    return true;
}

// True if happed has read the file; false if it does not run.
Outcome<bool> reloaded(const std::string& file) {
    const auto done =
        with_daemon([](DaemonProxy& daemon) { return daemon.call(method::kReload).map([] { return EX_OK; }); });
    if (done) {
        return true;
    }
    const auto& [status, message] = done.error();
    if (status == EX_UNAVAILABLE) {
        remark(fmt::format("the change is in {}; {}", file, message));
        return false;
    }
    return trouble(status, fmt::format("the change is in {}, but happed has not read it: {}", file, message));
}

}  // namespace

Outcome<Changed> change_options(const SetupOptions& options, std::string_view command,
                                const std::function<Outcome<Choices>(const Configuration&)>& choose) {
    const auto allowed = may_change(options, command);
    const auto before = allowed ? read_own_configuration(options.root) : pass_on(allowed);
    const auto choices = before ? choose(before->configured) : pass_on(before);
    const auto written = choices ? change_own_configuration(options.root, *choices) : pass_on(choices);
    const auto applied = written ? reloaded(written->file.string()) : pass_on(written);
    if (!applied) {
        return pass_on(applied);
    }
    return Changed{.now = written->now, .file = written->changed, .applied = *applied};
}

void say_changed(const SetupOptions& options, const std::string& text, nlohmann::ordered_json json,
                 const Changed& changed) {
    json["configuration_changed"] = changed.file;
    json["applied"] = changed.applied;
    say(options.json ? json_text(json) : text + (changed.applied ? "happed has this now.\n" : ""));
}

}  // namespace happe::ctl
