// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/agent/sources/unix_socket.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <array>
#include <cerrno>
#include <cstring>

namespace happe::ui {

tl::expected<std::unique_ptr<UnixSocket>, std::string> UnixSocket::connect(const std::string& path, Events events) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof address.sun_path) {
        return tl::unexpected(path + ": too long for a socket's name, or empty");
    }
    path.copy(&address.sun_path[0], path.size());
    Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the C interface
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        return tl::unexpected(path + ": " + std::strerror(errno));
    }
    return std::unique_ptr<UnixSocket>(new UnixSocket(std::move(socket), std::move(events)));
}

UnixSocket::UnixSocket(Descriptor socket, Events events)
    : socket_(std::move(socket)), events_(std::move(events)), readable_(socket_.get(), QSocketNotifier::Read) {
    QObject::connect(&readable_, &QSocketNotifier::activated, [this] { read(); });
}

void UnixSocket::write(std::string_view text) {
    if (::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size())) {
        close();
    }
}

void UnixSocket::read() {
    std::array<char, 65536> buffer{};
    const ssize_t count = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
    if (count > 0) {
        events_.read({buffer.data(), static_cast<std::size_t>(count)});
    } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
        close();
    }
}

void UnixSocket::close() {
    if (readable_.isEnabled()) {
        readable_.setEnabled(false);
        events_.closed();
    }
}

}  // namespace happe::ui
