// SPDX-License-Identifier: GPL-2.0-or-later
// Answers the one process that asks happed-keys.
#pragma once

#include "governor/core/result.h"
#include "governor/keys/key_binding.h"
#include "governor/keys/key_messages.h"
#include "governor/system/file_descriptor.h"

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace happe {

// Opens an event device, read-only and without waiting. Only happed-keys calls this, because it calls ioctl. The kernel
// then hides all events except those of `codes` from the descriptor (EVIOCSMASK), and stamps them by CLOCK_MONOTONIC.
// Nothing if the device has none of the `wanted` keys or has just gone. An error if it is not an event device, or if
// the kernel does not mask.
Result<std::optional<FileDescriptor>> open_keyboard(const std::string& path, std::span<const KeyCode> codes,
                                                    std::span<const KeyCode> wanted);

class KeyService {
public:
    static constexpr std::size_t kMostNodes = 256;

    using Open = std::function<Result<std::optional<FileDescriptor>>(
        const std::string& path, std::span<const KeyCode> codes, std::span<const KeyCode> wanted)>;

    // Hands out only the configured keys, whatever the client asks for, so happed-keys need not trust the client.
    KeyService(std::filesystem::path devices, Result<KeyBindings> configured, Open open = open_keyboard)
        : devices_(std::move(devices)), configured_(std::move(configured)), open_(std::move(open)) {}

    // Writes the whole answer to the socket; "end" or "error" comes last. Returns the error for the journal.
    Status answer(int socket, const KeyRequest& request);

private:
    Status hand_over(int socket, const OpenRequest& request);
    Status hand_over(int socket, const std::string& node, const KeyBindings& bindings, bool& handed);
    Status learn(int socket, std::chrono::milliseconds time);
    [[nodiscard]] Result<std::vector<std::string>> nodes() const;

    std::filesystem::path devices_;
    Result<KeyBindings> configured_;
    Open open_;
};

}  // namespace happe
