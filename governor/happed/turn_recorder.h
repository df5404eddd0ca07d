// SPDX-License-Identifier: GPL-2.0-or-later
// Records the daemon's turns: in the properties on the bus, in the journal, in the day's tally, and in a run's record.
#pragma once

#include "governor/core/turn_observer.h"
#include "governor/happed/day_tally.h"
#include "governor/happed/requests/daemon_object.h"
#include "governor/happed/runs/run_requests.h"
#include "governor/happed/system_log.h"
#include "governor/system/power_supplies.h"

#include <functional>

namespace happe {

// During a run it writes no lesson and no decision into the journal, and during a blind run no error either, because
// they would reveal the condition. The run's facts contain them.
class TurnRecorder final : public TurnObserver {
public:
    // Calls `counted` once for each series of presses while somebody is served or a run is on.
    TurnRecorder(Shown& shown, SystemLog& journal, const RunRequests& runs, const PowerSupplies& power, DayTally& day,
                 std::function<void(Key)> counted)
        : shown_(shown), log_(journal), runs_(runs), power_(power), day_(day), counted_(std::move(counted)) {}

    void turned(const Turn& turn) override;
    void failed(const Error& error) override;

private:
    void show(const Turn& turn);
    void show_targets(const Turn& turn);
    void tell(const Turn& turn);

    Shown& shown_;
    SystemLog& log_;
    const RunRequests& runs_;
    const PowerSupplies& power_;
    DayTally& day_;
    std::function<void(Key)> counted_;
    MonoTime now_;  // of the last turn
};

}  // namespace happe
