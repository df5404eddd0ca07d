// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "governor/bus/bus.h"
#include "governor/keys/key_helper.h"

#include <functional>
#include <memory>
#include <string>

namespace happe {

// Answers requests on the bus about the settings.
class SettingsRequests {
public:
    // `helper`: the socket of happed-keys; `event` must outlive the object.
    SettingsRequests(EventLoop& event, std::string helper, std::function<Answer<void>()> reload)
        : event_(event), helper_(std::move(helper)), reload_(std::move(reload)) {}

    Answer<void> reload() { return reload_(); }
    // Calls `learned` once, at the latest after the timeout, but not if the caller leaves the bus.
    void learn_key(const Caller& caller, Micros timeout, std::function<void(Answer<std::string>)> learned);

    // Stops learning a key for a caller that has left the bus.
    void left(const std::string& bus_name);

private:
    EventLoop& event_;
    std::string helper_;
    std::function<Answer<void>()> reload_;
    std::unique_ptr<KeyHelperCall> learning_;
    std::string learner_;  // bus name of the caller that waits for the key
};

}  // namespace happe
