// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/study/recordings.h"

namespace happe::study {

void fetch_recording(DaemonProxy& governor, const QString& run,
                     const std::function<void(const Said<Recording>&)>& then) {
    governor.stop(run, [&governor, run, then](const Said<QByteArray>& trace) {
        if (!trace) {
            then(tl::unexpected(trace.error()));
            return;
        }
        governor.facts(run, [then, trace = *trace](const Said<QByteArray>& facts) {
            then(facts.map([&](const QByteArray& text) {
                return Recording{.trace = trace.toStdString(), .facts = text.toStdString()};
            }));
        });
    });
}

}  // namespace happe::study
