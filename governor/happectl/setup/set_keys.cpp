// SPDX-License-Identifier: GPL-2.0-or-later
// happectl keys set: writes the two keys into this machine's configuration, and makes happed read it.
#include "governor/happectl/commands.h"
#include "governor/happectl/setup/setup.h"
#include "governor/happectl/view.h"
#include "governor/keys/key_binding.h"
#include "governor/keys/key_helper.h"

#include <fmt/format.h>
#include <unistd.h>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>

namespace happe::ctl {
namespace {

constexpr std::chrono::seconds kPressing{30};
constexpr std::chrono::seconds kGrace{5};

// The name of the first pressed key that types no text. Waits half a minute at most.
Outcome<std::string> learn_key_by(const std::string& socket_path) {
    const auto loop = EventLoop::create();
    if (!loop) {
        return trouble(EX_OSERR, loop.error().message);
    }
    std::optional<Result<KeyAnswers>> answers;
    const auto call = KeyHelperCall::ask((*loop)->get(), socket_path, LearnRequest{kPressing}, kPressing + kGrace,
                                         [&](Result<KeyAnswers> said) {
                                             answers = std::move(said);
                                             sd_event_exit((*loop)->get(), 0);
                                         });
    if (!call) {
        return trouble(EX_UNAVAILABLE, call.error().message + "; systemctl start happed-keys.socket");
    }
    if ((*loop)->run() < 0 || !answers || !*answers) {
        return trouble(EX_UNAVAILABLE, answers ? answers->error().message : "happed-keys does not answer");
    }
    return (*answers)->learned ? Outcome<std::string>(key_name(*(*answers)->learned))
                               : trouble(EX_UNAVAILABLE, "nobody pressed a usable key (one that types no text)");
}

struct SetKeysOptions : SetupOptions {
    bool press = false;
};

Outcome<KeyPair> wanted(const SetKeysOptions& options, const Configuration& configured) {
    if (options.press) {
        return pressed_keys(options);
    }
    const KeyPair& keys = options.keys;
    return checked({keys.performance.empty() ? configured.performance_key : keys.performance,
                    keys.power.empty() ? configured.power_key : keys.power});
}

// True if polkit let somebody run this as root. They may change only this machine's file.
bool is_let_by_polkit() {
    return std::getenv("PKEXEC_UID") != nullptr;  // NOLINT(concurrency-mt-unsafe): nothing changes the environment
}

Outcome<bool> may_change(const SetupOptions& options) {
    if (!options.of_this_machine() && is_let_by_polkit()) {
        return trouble(EX_NOPERM, "pkexec changes this machine's configuration only");
    }
    if (options.of_this_machine() && ::geteuid() != 0) {
        return trouble(EX_NOPERM, "only an administrator may do this: sudo happectl keys set");
    }
    return true;
}

// True if happed has read the file; false if it does not run.
Outcome<bool> reloaded(const std::string& file) {
    const auto done = with_daemon(read_configuration_again);
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

Outcome<int> set_keys(const SetKeysOptions& options) {
    if (!options.press && options.keys == KeyPair()) {
        return trouble(EX_USAGE, "name a key (--performance, --power), or press both: happectl keys set --press");
    }
    const auto allowed = may_change(options);
    const auto before = allowed ? read_own_configuration(options.root) : pass_on(allowed);
    const auto keys = before ? wanted(options, before->configured) : pass_on(before);
    const auto written = keys ? change_own_configuration(options.root, choices_of(*keys)) : pass_on(keys);
    const auto applied = written ? reloaded(written->file.string()) : pass_on(written);
    if (!applied) {
        return pass_on(applied);
    }
    const auto& [performance, power] = *keys;
    say(options.json ? json_text({{"performance", performance},
                                  {"power", power},
                                  {"configuration_changed", written->changed},
                                  {"applied", *applied}})
                     : fmt::format("faster      {}\nsave power  {}\n{}", performance, power,
                                   *applied ? "happed has this now.\n" : ""));
    return EX_OK;
}

}  // namespace

void add_set_keys(CLI::App& keys, Task& task) {
    CLI::App* const command = keys.add_subcommand("set", "Set the keys, in /etc/happe/happe.toml and at once");
    const auto options = std::make_shared<SetKeysOptions>();
    CLI::Option* const performance =
        command->add_option("--performance", options->keys.performance, "The key that asks for more speed");
    CLI::Option* const power = command->add_option("--power", options->keys.power, "The key that saves power");
    command->add_flag("--press", options->press, "Press both keys instead of naming them")
        ->excludes(performance)
        ->excludes(power);
    command->add_flag("--json", options->json, "Print the keys as JSON, in ASCII");
    command->add_option("--root", options->root, "Look for files below this")->group("");
    command->callback([options, &task] { task = [options] { return set_keys(*options); }; });
}

Outcome<KeyPair> checked(const KeyPair& keys) {
    const auto bindings = parse_key_bindings(keys.performance, keys.power);
    return bindings ? Outcome<KeyPair>(keys) : trouble(EX_USAGE, bindings.error().message);
}

Outcome<KeyPair> pressed_keys(const SetupOptions& options) {
    const std::string socket = (options.root / "run/happe-keys.sock").string();
    if (options.of_this_machine() && presence(socket) != Presence::Present) {
        if (const auto listens = systemctl(options, {"start", "happed-keys.socket"}); !listens) {
            return pass_on(listens);
        }
    }
    KeyPair keys;
    for (auto* const key : {&keys.performance, &keys.power}) {
        std::cerr << fmt::format("Press the key for {}. Keys that type text don't count.\n",
                                 key == &keys.power ? "\"save power\"" : "\"faster\"");
        const auto learned = learn_key_by(socket);
        if (!learned) {
            return pass_on(learned);
        }
        *key = *learned;
        std::cerr << fmt::format("  {}\n", *learned);
    }
    return checked(keys);
}

}  // namespace happe::ctl
