// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happectl/setup/setup_keys.h"

#include "governor/keys/key_binding.h"
#include "governor/keys/key_helper.h"

#include <fmt/format.h>
#include <iostream>
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

}  // namespace

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
