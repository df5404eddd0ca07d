// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "ui/study/laptop/daemon_proxy.h"
#include "ui/study/sitting/run_record.h"

#include <QString>
#include <functional>

namespace happe::study {

// Ends a run at happed, or fetches one that has ended.
void fetch_recording(DaemonProxy& governor, const QString& run,
                     const std::function<void(const Said<Recording>&)>& then);

}  // namespace happe::study
