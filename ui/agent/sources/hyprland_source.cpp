// SPDX-License-Identifier: GPL-2.0-or-later
// Hyprland reports moves of the focus on one socket, and answers questions on the other, one for each connection.
#include "ui/agent/sources/hyprland_protocol.h"
#include "ui/agent/sources/sources.h"
#include "ui/agent/sources/unix_socket.h"

#include <utility>

namespace happe::ui {
namespace {

constexpr std::size_t kMostAnswer = 1U << 20U;

class HyprlandSource final : public FocusSource {
public:
    HyprlandSource(std::string folder, Events events) : folder_(std::move(folder)), events_(std::move(events)) {}

    // An error says why this source cannot work.
    [[nodiscard]] std::string open() {
        auto connected = UnixSocket::connect(folder_ + "/.socket2.sock",
                                             {.read = [this](std::string_view bytes) { read_events(bytes); },
                                              .closed = [this] { lose("Hyprland is gone"); }});
        if (!connected) {
            return "Hyprland does not answer: " + connected.error();
        }
        told_ = *std::move(connected);
        return {};
    }

    [[nodiscard]] FocusBy by() const override { return FocusBy::Hyprland; }
    [[nodiscard]] QString name() const override { return QStringLiteral("Hyprland"); }

    void ask() override {
        answer_.clear();
        auto connected = UnixSocket::connect(
            folder_ + "/.socket.sock",
            {.read = [this](std::string_view bytes) { read_answer(bytes); }, .closed = [this] { answered(); }});
        if (!connected) {
            lose("Hyprland does not answer: " + connected.error());
            return;
        }
        asked_ = *std::move(connected);
        asked_->write("j/activewindow");
    }

private:
    void read_events(std::string_view bytes) {
        const auto moved = events_in_.moved_by(bytes);
        if (!moved) {
            lose("Hyprland: " + moved.error());
        } else if (*moved) {
            events_.changed();
        }
    }

    void read_answer(std::string_view bytes) {
        answer_.append(bytes);
        if (answer_.size() > kMostAnswer) {
            lose("Hyprland: an answer of more than " + std::to_string(kMostAnswer) + " bytes");
        }
    }

    // The end of the connection is the end of the answer.
    void answered() {
        const auto found = focus_in_answer(answer_);
        if (lost_) {
            return;
        }
        if (!found) {
            lose("Hyprland's answer: " + found.error());
        } else {
            events_.answered(*found);
        }
    }

    void lose(const std::string& why) {
        if (!std::exchange(lost_, true)) {
            events_.lost(why);
        }
    }

    std::string folder_;
    Events events_;
    HyprlandReader events_in_;
    std::string answer_;
    std::unique_ptr<UnixSocket> told_;
    std::unique_ptr<UnixSocket> asked_;
    bool lost_ = false;
};

}  // namespace

SourceOrError open_hyprland_focus(const std::string& folder, FocusSource::Events events) {
    auto source = std::make_unique<HyprlandSource>(folder, std::move(events));
    if (const std::string error = source->open(); !error.empty()) {
        return tl::unexpected(error);
    }
    return source;
}

}  // namespace happe::ui
