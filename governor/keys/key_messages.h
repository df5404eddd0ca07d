// SPDX-License-Identifier: GPL-2.0-or-later
// The messages between happed and happed-keys. Each packet is one line of text without a newline.
//
//   happe-keys 1 open NODE PERFORMANCE POWER   NODE is eventN or "all"; the keys as key_binding.h writes them
//   happe-keys 1 learn MILLISECONDS
//
//   keyboard NODE         with a descriptor: one of the two keys is here
//   key KEY_NAME          the learned key
//   end                   the answer is complete
//   error MESSAGE         the answer is complete, too
#pragma once

#include "governor/core/result.h"
#include "governor/keys/key_binding.h"
#include "governor/system/file_descriptor.h"

#include <chrono>
#include <string>
#include <string_view>
#include <variant>

namespace happe {

inline constexpr std::size_t kLongestKeyMessage = 512;  // bytes
inline constexpr std::string_view kAllNodes = "all";
inline constexpr std::chrono::milliseconds kLongestLearning{60'000};

struct OpenRequest {
    std::string node;  // or kAllNodes
    KeyBindings bindings;
    bool operator==(const OpenRequest&) const = default;
};
struct LearnRequest {
    std::chrono::milliseconds time{};  // 1 to kLongestLearning
    bool operator==(const LearnRequest&) const = default;
};
using KeyRequest = std::variant<OpenRequest, LearnRequest>;

std::string to_string(const KeyRequest& request);
Result<KeyRequest> parse_key_request(std::string_view text);

// True for "event0" to "event65535" in the kernel's form: no path, sign or leading zero.
bool is_event_node(std::string_view name);

struct FoundKeyboard {
    std::string node;
    bool operator==(const FoundKeyboard&) const = default;
};
struct LearnedKey {
    KeyCode code = 0;
    bool operator==(const LearnedKey&) const = default;
};
struct EndOfAnswer {
    bool operator==(const EndOfAnswer&) const = default;
};
struct Refusal {
    std::string message;
    bool operator==(const Refusal&) const = default;
};
using KeyAnswer = std::variant<FoundKeyboard, LearnedKey, EndOfAnswer, Refusal>;

// Shortens a message to fit a packet.
std::string to_string(const KeyAnswer& answer);
Result<KeyAnswer> parse_key_answer(std::string_view text);

// The socket between happed and happed-keys (SOCK_SEQPACKET). A packet has a text and at most one descriptor.
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
