// SPDX-License-Identifier: GPL-2.0-or-later
// sway reports changes of windows and workspaces. Then this source asks for sway's tree.
#include "ui/agent/sources/sources.h"
#include "ui/agent/sources/sway_protocol.h"
#include "ui/agent/sources/unix_socket.h"
#include "ui/agent/sources/x11_clients.h"

#include <utility>

namespace happe::ui {
namespace {

class SwaySource final : public FocusSource {
public:
    explicit SwaySource(Events events) : events_(std::move(events)) {}

    // An error says why this source cannot work.
    [[nodiscard]] std::string open(const std::string& path) {
        auto connected = UnixSocket::connect(path, {.read = [this](std::string_view bytes) { read(bytes); },
                                                    .closed = [this] { lose("sway is gone"); }});
        if (!connected) {
            return "sway does not answer: " + connected.error();
        }
        socket_ = *std::move(connected);
        socket_->write(in_bytes({.type = SwayMessage::kSubscribe, .payload = R"(["window","workspace"])"}));
        return {};
    }

    [[nodiscard]] FocusBy by() const override { return FocusBy::Sway; }
    [[nodiscard]] QString name() const override { return QStringLiteral("sway"); }
    void ask() override { socket_->write(in_bytes({.type = SwayMessage::kGetTree})); }

private:
    void read(std::string_view bytes) {
        reader_.add(bytes);
        auto message = reader_.next();
        for (; message && *message && !lost_; message = reader_.next()) {
            handle(**message);
        }
        if (!message) {
            lose("sway: " + message.error());
        }
    }

    void handle(const SwayMessage& message) {
        if (message.type != SwayMessage::kGetTree) {
            if (moves_focus(message)) {
                events_.changed();
            }
            return;
        }
        auto found = focus_in_tree(message.payload);
        if (!found) {
            lose("sway's tree: " + found.error());
            return;
        }
        events_.answered(*found ? checked(**found) : std::nullopt);
    }

    void lose(const std::string& why) {
        if (!std::exchange(lost_, true)) {
            events_.lost(why);
        }
    }

    Events events_;
    SwayReader reader_;
    std::unique_ptr<UnixSocket> socket_;
    bool lost_ = false;
};

}  // namespace

SourceOrError open_sway_focus(const std::string& socket, FocusSource::Events events) {
    auto source = std::make_unique<SwaySource>(std::move(events));
    if (const std::string error = source->open(socket); !error.empty()) {
        return tl::unexpected(error);
    }
    return source;
}

}  // namespace happe::ui
