// SPDX-License-Identifier: GPL-2.0-or-later
// happectl restore: restores the state that HAPPE found.
#include "governor/happectl/commands.h"
#include "governor/happectl/doctor/machine.h"
#include "governor/happectl/view.h"
#include "governor/happectl/waiter.h"
#include "governor/system/monotonic_clock.h"

#include <fmt/format.h>
#include <unistd.h>
#include <memory>
#include <thread>

namespace happe::ctl {
namespace {

const Address kSystemd{"org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager"};

const std::string kUnit = "happed.service";

struct RestoreOptions {
    Output output;
    Root root = "/";
};

constexpr std::chrono::seconds kStopping{30};
constexpr std::chrono::milliseconds kGlance{100};

bool runs(Bus& bus, const std::string& unit_path) {
    const Address unit{kSystemd.service, unit_path, "org.freedesktop.systemd1.Unit"};
    const auto state = bus.property<std::string>(unit, "ActiveState");
    return state && *state != "inactive" && *state != "failed";
}

// Waits until the unit has ended, ExecStopPost included.
Outcome<bool> wait_for_end(Bus& bus, const std::string& unit_path) {
    const MonoTime end = monotonic_now() + kStopping;
    while (runs(bus, unit_path)) {
        if (monotonic_now() > end) {
            return trouble(EX_UNAVAILABLE, "happed does not stop: systemctl status happed");
        }
        std::this_thread::sleep_for(kGlance);
    }
    return true;
}

// False if there is nothing to stop.
Outcome<bool> stop_service(Bus& bus) {
    const auto unit = bus.call<wire::ObjectPath>(kPrompt, kSystemd, "GetUnit", kUnit);
    if (!unit || !runs(bus, unit->value)) {
        return false;
    }
    const auto stopped =
        bus.call<wire::ObjectPath>(kAskingSomebody, kSystemd, "StopUnit", kUnit, std::string("replace"));
    if (!stopped) {
        return trouble(EX_NOPERM, fmt::format("systemd does not stop happed: {}; try sudo happectl restore",
                                              stopped.error().message));
    }
    return wait_for_end(bus, unit->value);
}

// The path of happed: beside this program, or where packages install it.
std::string daemon_program() {
    std::error_code error;
    const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
    for (const std::filesystem::path& program : {folder / "happed", folder / "../sbin/happed"}) {
        if (::access(program.c_str(), X_OK) == 0) {
            return program.string();
        }
    }
    return "happed";
}

// Runs happed to restore the rest of the found state.
Outcome<bool> restore_rest(const Root& root) {
    if (presence(root / kFoundState) != Presence::Present) {
        return false;
    }
    if (::geteuid() != 0) {
        return trouble(EX_NOPERM, "the machine is not restored yet; try sudo happectl restore");
    }
    sigset_t none;
    sigemptyset(&none);
    auto child = Child::start({daemon_program(), "--restore"}, none);
    if (!child) {
        return pass_on(child);
    }
    if (const int status = child->wait(); status != 0) {
        return trouble(status, "happed --restore could not restore everything; the reason is above");
    }
    return true;
}

std::string as_text(bool stopped, const std::vector<PolicyFound>& policies) {
    std::string text = stopped ? "happed is stopped until the next boot, or until: systemctl start happed\n"
                               : "happed was not running\n";
    for (const PolicyFound& policy : policies) {
        text += fmt::format("policy {}: {}\n", policy.policy, printable(policy.governor, {}));
    }
    return text;
}

std::string as_json(bool stopped, const std::vector<PolicyFound>& policies) {
    nlohmann::ordered_json governors = nlohmann::ordered_json::array();
    for (const PolicyFound& policy : policies) {
        governors.push_back({{"policy", policy.policy}, {"governor", policy.governor}});
    }
    return json_text({{"stopped", stopped}, {"policies", governors}});
}

Outcome<int> restore(const RestoreOptions& options) {
    bool stopped = false;
    if (auto bus = Bus::open()) {
        const auto ended = stop_service(*bus);
        if (!ended) {
            return pass_on(ended);
        }
        stopped = *ended;
    }
    if (const auto rest = restore_rest(options.root); !rest) {
        return pass_on(rest);
    }
    const auto policies = find_policies(options.root);
    say(options.output.json ? as_json(stopped, policies) : as_text(stopped, policies));
    return EX_OK;
}

}  // namespace

void add_restore(CLI::App& program, Task& task) {
    CLI::App* const command = program.add_subcommand("restore", "Stop HAPPE and restore the kernel's governor");
    const auto options = std::make_shared<RestoreOptions>();
    command->add_option("--root", options->root, "Look for files below this")->group("");
    add_output(*command, options->output);
    command->footer(
        "Stops happed by systemd, makes sure that the governor, limits and tunables that it found are back, and shows\n"
        "which governor is in charge now. To keep HAPPE from starting with the machine: systemctl disable happed.\n\n"
        "Examples:\n"
        "  happectl restore");
    command->callback([options, &task] { task = [options] { return restore(*options); }; });
}

}  // namespace happe::ctl
