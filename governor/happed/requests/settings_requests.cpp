// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happed/requests/settings_requests.h"

#include "governor/keys/key_binding.h"

#include <utility>

namespace happe {

namespace {

using Kind = ServiceError::Kind;

}  // namespace

void SettingsRequests::learn_key(const Caller& caller, Micros timeout,
                                 std::function<void(Answer<std::string>)> learned) {
    if (learning_) {
        learned(refusal(Kind::Busy, "a key is being learned already"));
        return;
    }
    constexpr Micros kGrace = std::chrono::seconds{5};
    const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(timeout);
    auto asked = KeyHelperCall::ask(
        event_.get(), helper_, LearnRequest{milliseconds}, timeout + kGrace,
        [this, learned](const Result<KeyAnswers>& answers) {
            const auto ended = std::move(learning_);  // once this returns
            if (!answers) {
                learned(refusal(Kind::Failed, answers.error().message));
            } else if (!answers->learned) {
                learned(refusal(Kind::NotFound, "no key that types no text was pressed within the time"));
            } else {
                learned(std::string(key_name(*answers->learned)));
            }
        });
    if (!asked) {
        learned(refusal(Kind::Failed, asked.error().message));
        return;
    }
    learning_ = *std::move(asked);
    learner_ = caller.bus_name;
}

void SettingsRequests::left(const std::string& bus_name) {
    if (learning_ && learner_ == bus_name) {
        learning_.reset();
    }
}

}  // namespace happe
