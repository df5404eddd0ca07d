// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "governor/system/event_loop.h"

#include <functional>
#include <optional>
#include <string>

namespace happe {

// Decides when HAPPE may try again after a contest: when the other program has been quiet for 30 periods. This wait
// doubles, up to an hour, whenever the next contest begins before HAPPE has governed for as long as the wait.
class ContestWait {
public:
    // `scene`: the current values of the settings that the other program changes. Calls `over` once for each begin(),
    // unless cancel() comes first. Throws std::system_error if there is no timer left. `event` must outlive the object.
    ContestWait(EventLoop& event, std::function<std::string()> scene, std::function<void()> over);
    ContestWait(const ContestWait&) = delete;
    ContestWait& operator=(const ContestWait&) = delete;
    ~ContestWait() = default;

    void begin(MonoTime now, Micros period);
    void cancel();  // the next wait is 30 periods again

private:
    void look(MonoTime now);

    std::function<std::string()> scene_;
    std::function<void()> over_;
    Alarm alarm_;
    std::string seen_;
    MonoTime quiet_since_;
    Micros pause_{0};  // between looks
    Micros wait_{0};   // how long the other program must be quiet
    std::optional<MonoTime> ended_;
};

}  // namespace happe
