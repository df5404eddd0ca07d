// SPDX-License-Identifier: GPL-2.0-or-later
// happectl study: prints what a study server needs from this laptop.
#include "governor/happectl/commands.h"
#include "governor/happectl/view.h"

#include <fmt/format.h>
#include <memory>

namespace happe::ctl {
namespace {

Outcome<int> show_key(const Output& output) {
    return with_daemon([&](DaemonProxy& daemon) {
        return daemon.call_within(kPrompt, method::kDeviceKey).map([&](const PublicKey& key) {
            const std::string text = base64_of(key);
            const std::string fingerprint = fingerprint_of(key);
            say(output.json ? json_text({{"public_key", text}, {"key_sha256", fingerprint}})
                            : fmt::format("public key  {}\nSHA-256     {}\n", text, fingerprint));
            return EX_OK;
        });
    });
}

}  // namespace

void add_study(CLI::App& program, Task& task) {
    CLI::App* const command =
        program.add_subcommand("study", "Print the data that a study server needs from this laptop");
    command->require_subcommand(1);
    command->footer(  // before the subcommand, which CLI11 hands it down to
        "The first time, happed makes a pair of keys. The secret key never leaves /var/lib/happe. Copy the printed public\n"
        "key into the laptop's enrolment. The server's audit log identifies the laptop by the SHA-256 of that key.\n\n"
        "Examples:\n"
        "  happectl study key\n"
        "  happectl study key --json | jq -r .public_key");
    const auto output = std::make_shared<Output>();
    CLI::App* const key = command->add_subcommand("key", "Its public key, to which conditions are sealed");
    add_output(*key, *output);
    key->callback([output, &task] { task = [output] { return show_key(*output); }; });
}

}  // namespace happe::ctl
