// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "governor/system/event_loop.h"
#include "governor/system/monotonic_clock.h"
#include "governor/system/temporary_directory_fixture.h"

#include <gtest/gtest.h>
#include <filesystem>
#include <functional>

namespace happe {

// Runs an event loop, and has a temporary folder.
class LoopFixture : public testing::Test {
protected:
    // Runs the loop until the condition holds, at most ten seconds.
    [[nodiscard]] bool runs_until(const std::function<bool()>& holds) const {
        const MonoTime end = monotonic_now() + std::chrono::seconds{10};
        while (!holds() && monotonic_now() < end) {
            EXPECT_GE(sd_event_run(loop.get(), 10'000), 0);
        }
        return holds();
    }
    // Runs everything that is ready now.
    void runs() const {
        while (sd_event_run(loop.get(), 0) > 0) {
        }
    }

    TemporaryDirectory directory;
    std::filesystem::path folder = directory.path();
    std::unique_ptr<EventLoop> owned_loop = EventLoop::create().value();
    EventLoop& loop = *owned_loop;
};

}  // namespace happe
