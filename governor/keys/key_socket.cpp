// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/keys/key_socket.h"

#include "governor/keys/key_messages.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <vector>

namespace happe {
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
