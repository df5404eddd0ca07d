// SPDX-License-Identifier: GPL-2.0-or-later
// What the daemon's turns leave behind: the properties on the bus, the journal, and a run's trace.
#pragma once

#include "governor/bus/governor_service.h"
#include "governor/core/witness.h"
#include "governor/documents/trace_reader.h"
#include "governor/happed/journal.h"
#include "governor/happed/run_facts.h"
#include "governor/system/file_descriptor.h"

#include <functional>
#include <optional>
#include <string>

namespace happe {

class Chronicle final : public Witness {
public:
    // `counted` hears of each series of presses while somebody is served or a run goes on.
    Chronicle(Shown& shown, Journal& journal, std::function<void(Key)> counted)
        : shown_(shown), journal_(journal), counted_(std::move(counted)) {}

    void turned(const Turn& turn) override;
    void failed(const Error& error) override;

    // From now on every turn is a line of the trace, and the run's facts are taken down, which live until end_trace().
    // The journal is told nothing of what is learned and decided, of a blind run nothing of what fails either, lest it
    // tells the condition. An error if the header can't be written.
    [[nodiscard]] Status begin_trace(FileDescriptor trace, const TraceHeader& header, RunFacts& run, bool blind);

    // All lines are on the disk, or the first that is not is told.
    [[nodiscard]] Status end_trace();

private:
    void record(const std::string& line);
    void show(const Turn& turn);
    void show_targets(const Turn& turn);
    void tell(const Turn& turn);

    Shown& shown_;
    Journal& journal_;
    std::function<void(Key)> counted_;
    FileDescriptor trace_;
    Status recorded_;
    RunFacts* run_ = nullptr;
    bool blind_ = false;
    MonoTime now_;
};

}  // namespace happe
