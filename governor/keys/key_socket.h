// SPDX-License-Identifier: GPL-2.0-or-later
// The socket between happed and happed-keys (SOCK_SEQPACKET): a packet is a text, and at most one descriptor.
#pragma once

#include "governor/core/result.h"
#include "governor/system/file_descriptor.h"

#include <string>
#include <string_view>

namespace happe {

struct KeyPacket {
    std::string text;     // empty: the other side has closed
    FileDescriptor file;  // if one came along
};

// A socket that never waits.
Result<FileDescriptor> connect_key_socket(const std::string& path);

// Whole or not at all; `file` negative is none.
Status send_key_packet(int socket, std::string_view text, int file = -1);

// An error if there is none yet, it has more than kLongestKeyMessage bytes, or more than one descriptor.
Result<KeyPacket> receive_key_packet(int socket);

// The other end is a process of root's or of this process's own user.
Status check_key_peer(int socket);

}  // namespace happe
