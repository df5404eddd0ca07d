// SPDX-License-Identifier: GPL-2.0-or-later
// An event device, opened so that only some of its keys can ever be read. For happed-keys alone: it calls ioctl.
#pragma once

#include "governor/core/result.h"
#include "governor/keys/key_binding.h"
#include "governor/system/file_descriptor.h"

#include <optional>
#include <span>
#include <string>

namespace happe {

struct OpenKeyboard {
    FileDescriptor file;  // read-only, never waits
    std::string name;     // what the device calls itself
};

// Opens an event device and has the kernel keep all events but those of `codes` from this descriptor (EVIOCSMASK), with
// stamps of CLOCK_MONOTONIC. Nothing if the device has none of the `wanted` keys or has just been unplugged. An error
// if it is no event device, or the kernel doesn't mask.
Result<std::optional<OpenKeyboard>> open_keyboard(const std::string& path, std::span<const KeyCode> codes,
                                                  std::span<const KeyCode> wanted);

}  // namespace happe
