// SPDX-License-Identifier: GPL-2.0-or-later
// Owners of what sd-event hands out.
#pragma once

#include <systemd/sd-event.h>
#include <memory>

namespace happe {

struct UnrefEventLoop {
    void operator()(sd_event* loop) const { sd_event_unref(loop); }
};
using EventLoop = std::unique_ptr<sd_event, UnrefEventLoop>;

// Disabled as it goes: its callback isn't called again, whatever else still refers to it. May go in its own callback.
struct DropEventSource {
    void operator()(sd_event_source* source) const { sd_event_source_disable_unref(source); }
};
using EventSource = std::unique_ptr<sd_event_source, DropEventSource>;

}  // namespace happe
