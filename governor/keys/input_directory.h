// SPDX-License-Identifier: GPL-2.0-or-later
// /dev/input, watched for event nodes that appear. It need not exist yet, and may go and come back.
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
        std::function<void()> look_again;  // the directory came, or more happened than the kernel could report
        std::function<void(const Error&)> failed;
    };

    // Its hooks are called from the event loop only.
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
    EventSource nodes_;   // none while there is no directory
    EventSource parent_;  // none while there is one
};

}  // namespace happe
