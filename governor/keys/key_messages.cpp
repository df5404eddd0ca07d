// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/keys/key_messages.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>
#include <system_error>
#include <vector>

namespace happe {
namespace {

constexpr std::string_view kGreeting = "happe-keys 1";
constexpr std::size_t kLongestRefusal = 400;

bool prints(unsigned char c) {
    return c >= 0x20 && c != 0x7f;
}

bool is_refusal(std::string_view text) {
    return !text.empty() && text.size() <= kLongestRefusal && std::ranges::all_of(text, prints);
}

// Reads a decimal number of at most `most`, without sign or leading zero.
std::optional<unsigned> number(std::string_view text, unsigned most) {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool all = error == std::errc() && end == text.data() + text.size();
    return all && value <= most && text == fmt::to_string(value) ? std::optional(value) : std::nullopt;
}

// Removes the first word and the space after it from the text, and returns the word.
std::string_view take_word(std::string_view& text) {
    const std::size_t space = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(std::min(space + 1, text.size()));
    return word;
}

Result<KeyRequest> parse_open(std::string_view rest) {
    const std::string_view node = take_word(rest);
    const std::string_view performance = take_word(rest);
    if (node != kAllNodes && !is_event_node(node)) {
        return failure("open: neither an event node nor \"all\"");
    }
    auto bindings = parse_key_bindings(performance, rest);
    if (!bindings) {
        return failure(fmt::format("open: {}", bindings.error().message));
    }
    return OpenRequest{.node = std::string(node), .bindings = *bindings};
}

Result<KeyRequest> parse_learn(std::string_view rest) {
    const auto time = number(rest, static_cast<unsigned>(kLongestLearning.count()));
    if (!time || *time == 0) {
        return failure(fmt::format("learn: not 1 to {} milliseconds", kLongestLearning.count()));
    }
    return LearnRequest{std::chrono::milliseconds{*time}};
}

Result<KeyAnswer> parse_keyboard(std::string_view rest) {
    return is_event_node(rest) ? Result<KeyAnswer>(FoundKeyboard{std::string(rest)})
                               : failure("keyboard: not an event node");
}

Result<KeyAnswer> parse_learned(std::string_view rest) {
    const auto binding = parse_key_binding(rest);
    if (!binding || binding->modifiers != Modifiers()) {
        return failure("key: not a key that can be bound");
    }
    return LearnedKey{binding->code};
}

std::string written(const OpenRequest& open) {
    return fmt::format("{} open {} {} {}", kGreeting, open.node, to_string(open.bindings.performance),
                       to_string(open.bindings.power));
}

std::string written(const LearnRequest& learn) {
    return fmt::format("{} learn {}", kGreeting, learn.time.count());
}

std::string written(const FoundKeyboard& found) {
    return fmt::format("keyboard {}", found.node);
}

std::string written(const LearnedKey& learned) {
    return fmt::format("key {}", key_name(learned.code));
}

std::string written(const EndOfAnswer& /*end*/) {
    return "end";
}

std::string written(const Refusal& refusal) {
    std::string fits = refusal.message.substr(0, kLongestRefusal);
    std::ranges::replace_if(fits, [](unsigned char c) { return !prints(c); }, '?');
    return fmt::format("error {}", fits.empty() ? "?" : fits);
}

}  // namespace

bool is_event_node(std::string_view name) {
    constexpr std::string_view kPrefix = "event";
    return name.starts_with(kPrefix) &&
           number(name.substr(kPrefix.size()), std::numeric_limits<std::uint16_t>::max()).has_value();
}

std::string to_string(const KeyRequest& request) {
    return std::visit([](const auto& it) { return written(it); }, request);
}

Result<KeyRequest> parse_key_request(std::string_view text) {
    if (text.size() > kLongestKeyMessage) {
        return failure("a request that is too long");
    }
    if (!text.starts_with(kGreeting) || text.substr(kGreeting.size(), 1) != " ") {
        return failure(fmt::format("not a request of \"{}\"", kGreeting));
    }
    text.remove_prefix(kGreeting.size() + 1);
    const std::string_view verb = take_word(text);
    if (verb == "open") {
        return parse_open(text);
    }
    if (verb == "learn") {
        return parse_learn(text);
    }
    return failure("neither open nor learn");
}

std::string to_string(const KeyAnswer& answer) {
    return std::visit([](const auto& it) { return written(it); }, answer);
}

Result<KeyAnswer> parse_key_answer(std::string_view text) {
    if (text.size() > kLongestKeyMessage) {
        return failure("an answer that is too long");
    }
    if (text == "end") {
        return EndOfAnswer{};
    }
    const std::string_view kind = take_word(text);
    if (kind == "keyboard") {
        return parse_keyboard(text);
    }
    if (kind == "key") {
        return parse_learned(text);
    }
    if (kind == "error" && is_refusal(text)) {
        return Refusal{std::string(text)};
    }
    return failure("not an answer of happed-keys");
}

namespace {

tl::unexpected<Error> failed(std::string_view what) {
    return failure(fmt::format("{}: {}", what, std::generic_category().message(errno)));
}

// Room for more descriptors than we ever send, so that we notice a peer that sends too many, and close them.
constexpr std::size_t kRoomForFiles = 4;
using Control = std::array<std::byte, CMSG_SPACE(kRoomForFiles * sizeof(int))>;

// Takes all descriptors that came with a message.
std::vector<FileDescriptor> take_files(msghdr& message) {
    std::vector<FileDescriptor> files;
    for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < count; ++i) {
            int file = -1;
            std::memcpy(&file, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
            files.emplace_back(file);
        }
    }
    return files;
}

}  // namespace

Result<FileDescriptor> connect_key_socket(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof(address.sun_path)) {
        return failure(fmt::format("{}: not a path a socket can have", path));
    }
    path.copy(static_cast<char*>(address.sun_path), path.size());
    FileDescriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    // NOLINTNEXTLINE(*-reinterpret-cast): connect() takes every family's address as a sockaddr (unix(7))
    const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
    if (!socket || ::connect(socket.get(), generic, sizeof(address)) != 0) {
        return failed(path);
    }
    return socket;
}

Status send_key_packet(int socket, std::string_view text, int file) {
    // NOLINTNEXTLINE(*-const-cast): iovec serves reading and writing; sendmsg() only reads
    iovec bytes{.iov_base = const_cast<char*>(text.data()), .iov_len = text.size()};
    alignas(cmsghdr) Control control{};
    msghdr message{};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    if (file >= 0) {
        message.msg_control = control.data();
        message.msg_controllen = CMSG_SPACE(sizeof(int));
        cmsghdr* const part = CMSG_FIRSTHDR(&message);
        part->cmsg_level = SOL_SOCKET;
        part->cmsg_type = SCM_RIGHTS;
        part->cmsg_len = CMSG_LEN(sizeof(int));
        std::memcpy(CMSG_DATA(part), &file, sizeof(int));
    }
    return ::sendmsg(socket, &message, MSG_NOSIGNAL) < 0 ? Status(failed("cannot send")) : Status();
}

Result<KeyPacket> receive_key_packet(int socket) {
    std::array<char, kLongestKeyMessage> buffer{};
    iovec bytes{.iov_base = buffer.data(), .iov_len = buffer.size()};
    alignas(cmsghdr) Control control{};
    msghdr message{};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t length = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    if (length < 0) {
        return failed("cannot receive");
    }
    std::vector<FileDescriptor> files = take_files(message);
    if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0 || files.size() > 1) {
        return failure("a packet that is too long or has too many descriptors");
    }
    KeyPacket packet{.text = std::string(buffer.data(), static_cast<std::size_t>(length)), .file = {}};
    if (!files.empty()) {
        packet.file = std::move(files.front());
    }
    return packet;
}

Status check_key_peer(int socket) {
    ucred peer{};
    socklen_t length = sizeof(peer);
    if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) {
        return failed("not a connected socket");
    }
    return peer.uid == 0 || peer.uid == ::geteuid() ? Status()
                                                    : Status(failure(fmt::format("user {} may not ask", peer.uid)));
}

}  // namespace happe
