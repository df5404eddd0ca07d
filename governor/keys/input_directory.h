// SPDX-License-Identifier: GPL-2.0-or-later
// Watches /dev/input for new event nodes. The directory need not exist yet, and may disappear and return.
#pragma once

#include "governor/core/result.h"
#include "governor/system/event_loop.h"

#include <sys/inotify.h>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace happe {

class InputDirectory {
public:
    struct Hooks {
        std::function<void(const std::string& node)> appeared;
        std::function<void()> look_again;  // the directory appeared, or the kernel lost events
        std::function<void(const Error&)> failed;
    };

    // Calls the hooks only from the event loop.
    static Result<std::unique_ptr<InputDirectory>> watch(EventLoop& loop, std::filesystem::path path, Hooks hooks);

private:
    InputDirectory(EventLoop& loop, std::filesystem::path path, Hooks hooks);

    Status watch_nodes();
    Status watch_parent();
    void changed_nodes(const inotify_event& event);
    void changed_parent(const inotify_event& event);
    void look_again();

    EventLoop& loop_;
    std::filesystem::path path_;
    Hooks hooks_;
    EventSource nodes_;   // null while there is no directory
    EventSource parent_;  // null while there is a directory
};

}  // namespace happe
