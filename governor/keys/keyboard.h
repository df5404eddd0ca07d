// SPDX-License-Identifier: GPL-2.0-or-later
// An event device with a descriptor that shows only some keys. Only happed-keys uses this, because it calls ioctl.
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
    std::string name;     // the device's own name
};

// Opens an event device. The kernel then hides all events except those of `codes` from the descriptor (EVIOCSMASK), and
// stamps them by CLOCK_MONOTONIC. Nothing if the device has none of the `wanted` keys or has just gone. An error if it
// is not an event device, or if the kernel does not mask.
Result<std::optional<OpenKeyboard>> open_keyboard(const std::string& path, std::span<const KeyCode> codes,
                                                  std::span<const KeyCode> wanted);

}  // namespace happe
