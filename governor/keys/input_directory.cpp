// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/keys/input_directory.h"

#include "governor/keys/key_messages.h"

#include <fmt/format.h>
#include <sys/inotify.h>
#include <cerrno>
#include <system_error>
#include <utility>

namespace happe {

InputDirectory::InputDirectory(EventLoop& loop, std::filesystem::path path, Hooks hooks)
    : loop_(loop), path_(std::move(path)), hooks_(std::move(hooks)) {}

Result<std::unique_ptr<InputDirectory>> InputDirectory::watch(EventLoop& loop, std::filesystem::path path,
                                                              Hooks hooks) {
    std::unique_ptr<InputDirectory> directory(new InputDirectory(loop, std::move(path), std::move(hooks)));
    if (const Status watched = directory->watch_nodes(); !watched) {
        return tl::unexpected<Error>(watched.error());
    }
    return directory;
}

// Watches the parent instead while there is no directory.
Status InputDirectory::watch_nodes() {
    sd_event_source* source = nullptr;
    const int result = sd_event_add_inotify(
        loop_.get(), &source, path_.c_str(), IN_CREATE | IN_DELETE_SELF | IN_ONLYDIR,
        [](sd_event_source*, const inotify_event* event, void* self) {
            static_cast<InputDirectory*>(self)->changed_nodes(*event);
            return 0;
        },
        this);
    nodes_.reset(source);
    if (result == -ENOENT && !parent_) {
        return watch_parent();
    }
    if (result < 0 && result != -ENOENT) {
        return failure(fmt::format("{}: {}", path_.string(), std::generic_category().message(-result)));
    }
    if (result >= 0) {
        parent_.reset();
    }
    return {};
}

Status InputDirectory::watch_parent() {
    const std::filesystem::path parent = path_.parent_path();
    sd_event_source* source = nullptr;
    const int result = sd_event_add_inotify(
        loop_.get(), &source, parent.c_str(), IN_CREATE | IN_ONLYDIR,
        [](sd_event_source*, const inotify_event* event, void* self) {
            static_cast<InputDirectory*>(self)->changed_parent(*event);
            return 0;
        },
        this);
    if (result < 0) {
        return failure(fmt::format("{}: {}", parent.string(), std::generic_category().message(-result)));
    }
    parent_.reset(source);
    return watch_nodes();  // it may have appeared meanwhile
}

void InputDirectory::changed_nodes(const inotify_event& event) {
    if ((event.mask & (IN_DELETE_SELF | IN_Q_OVERFLOW)) != 0) {
        look_again();
    } else if ((event.mask & IN_CREATE) != 0 && event.len != 0 && is_event_node(&event.name[0])) {
        hooks_.appeared(&event.name[0]);
    }
}

void InputDirectory::changed_parent(const inotify_event& event) {
    const bool ours = event.len != 0 && path_.filename() == &event.name[0];
    if (ours || (event.mask & IN_Q_OVERFLOW) != 0) {
        look_again();
    }
}

void InputDirectory::look_again() {
    if (const Status watched = watch_nodes(); !watched) {
        hooks_.failed(watched.error());
    } else if (nodes_) {
        hooks_.look_again();
    }
}

}  // namespace happe
