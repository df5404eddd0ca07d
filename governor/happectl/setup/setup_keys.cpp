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
    sd_event* made = nullptr;
    if (sd_event_new(&made) < 0) {
        return trouble(EX_OSERR, "no event loop");
    }
    const EventLoop loop(made);
    std::optional<Result<KeyAnswers>> answers;
    const auto call = KeyHelperCall::ask(made, socket_path, LearnRequest{kPressing}, kPressing + kGrace,
                                         [&](Result<KeyAnswers> said) {
                                             answers = std::move(said);
                                             sd_event_exit(made, 0);
                                         });
    if (!call) {
        return trouble(EX_UNAVAILABLE, call.error().message + "; systemctl start happed-keys.socket");
    }
    sd_event_loop(made);
    if (!answers || !*answers) {
        return trouble(EX_UNAVAILABLE, answers ? answers->error().message : "happed-keys does not answer");
    }
    return (*answers)->learned ? Outcome<std::string>(key_name(*(*answers)->learned))
                               : trouble(EX_UNAVAILABLE, "nobody pressed a usable key (one that types no text)");
}

}  // namespace happe::ctl
