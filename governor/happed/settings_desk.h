// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "governor/bus/services.h"
#include "governor/keys/key_helper.h"

#include <functional>
#include <memory>
#include <string>

namespace happe {

// What callers on the bus ask of the settings.
class SettingsDesk final : public SettingsService {
public:
    // `helper`: the socket of happed-keys; the event loop outlives it.
    SettingsDesk(EventLoop& event, std::string helper, std::function<Answer<void>()> reload)
        : event_(event), helper_(std::move(helper)), reload_(std::move(reload)) {}

    Answer<void> reload() override { return reload_(); }
    void learn_key(const Caller& caller, Micros timeout, std::function<void(Answer<std::string>)> learned) override;

    // Stops learning a key for a caller that left the bus.
    void left(const std::string& bus_name);

private:
    EventLoop& event_;
    std::string helper_;
    std::function<Answer<void>()> reload_;
    std::unique_ptr<KeyHelperCall> learning_;
    std::string learner_;  // bus name of the caller that waits for it
};

}  // namespace happe
