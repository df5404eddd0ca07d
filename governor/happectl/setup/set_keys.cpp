// SPDX-License-Identifier: GPL-2.0-or-later
// happectl keys set: writes the two keys into this machine's configuration, and makes happed read it.
#include "governor/happectl/commands.h"
#include "governor/happectl/setup/change_options.h"
#include "governor/happectl/setup/setup_keys.h"

#include <fmt/format.h>
#include <memory>

namespace happe::ctl {
namespace {

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

Outcome<int> set_keys(const SetKeysOptions& options) {
    if (!options.press && options.keys == KeyPair()) {
        return trouble(EX_USAGE, "name a key (--performance, --power), or press both: happectl keys set --press");
    }
    const auto changed = change_options(options, "keys set", [&](const Configuration& configured) {
        return wanted(options, configured).map([](const KeyPair& keys) { return choices_of(keys); });
    });
    if (!changed) {
        return pass_on(changed);
    }
    const KeyPair keys{changed->now.performance_key, changed->now.power_key};
    say_changed(options, fmt::format("faster      {}\nsave power  {}\n", keys.performance, keys.power),
                {{"performance", keys.performance}, {"power", keys.power}}, *changed);
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

}  // namespace happe::ctl
