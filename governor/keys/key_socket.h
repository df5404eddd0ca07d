// SPDX-License-Identifier: GPL-2.0-or-later
// The socket between happed and happed-keys (SOCK_SEQPACKET). A packet has a text and at most one descriptor.
#pragma once

#include "governor/core/result.h"
#include "governor/system/file_descriptor.h"

#include <string>
#include <string_view>

namespace happe {

struct KeyPacket {
    std::string text;     // empty: the other side has closed
    FileDescriptor file;  // if the packet had one
};

// Connects a non-blocking socket.
Result<FileDescriptor> connect_key_socket(const std::string& path);

// Sends the whole packet or nothing. `file` negative: no descriptor.
Status send_key_packet(int socket, std::string_view text, int file = -1);

// An error if no packet has arrived yet, or if it has more than kLongestKeyMessage bytes or more than one descriptor.
Result<KeyPacket> receive_key_packet(int socket);

// An error unless the other end belongs to root or to our own user.
Status check_key_peer(int socket);

}  // namespace happe
