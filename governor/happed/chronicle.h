// SPDX-License-Identifier: GPL-2.0-or-later
// What the daemon's turns leave behind: the properties on the bus, the journal, and a run's record.
#pragma once

#include "governor/bus/services.h"
#include "governor/core/witness.h"
#include "governor/happed/journal.h"
#include "governor/happed/runs/run_desk.h"

#include <functional>

namespace happe {

// While a run is on the journal is told nothing of what is learned and decided, of a blind run nothing of what fails
// either, lest it tells the condition: that is in the run's facts.
class Chronicle final : public Witness {
public:
    // `counted` hears of each series of presses while somebody is served or a run goes on.
    Chronicle(Shown& shown, Journal& journal, const RunDesk& runs, std::function<void(Key)> counted)
        : shown_(shown), journal_(journal), runs_(runs), counted_(std::move(counted)) {}

    void turned(const Turn& turn) override;
    void failed(const Error& error) override;

private:
    void show(const Turn& turn);
    void show_targets(const Turn& turn);
    void tell(const Turn& turn);

    Shown& shown_;
    Journal& journal_;
    const RunDesk& runs_;
    std::function<void(Key)> counted_;
    MonoTime now_;  // of the last turn
};

}  // namespace happe
