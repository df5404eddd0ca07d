// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happectl/setup/setup_keys.h"

#include "governor/keys/key_binding.h"
#include "governor/keys/key_helper.h"

#include <optional>

namespace happe::ctl {
namespace {

constexpr std::chrono::seconds kPressing{30};
constexpr std::chrono::seconds kGrace{5};

}  // namespace

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

}  // namespace happe::ctl
