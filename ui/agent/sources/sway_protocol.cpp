// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/agent/sources/sway_protocol.h"

#include "ui/agent/sources/json.h"

#include <QJsonArray>
#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <vector>

namespace happe::ui {
namespace {

constexpr std::string_view kMagic = "i3-ipc";
constexpr std::size_t kHeader = kMagic.size() + 2 * sizeof(std::uint32_t);  // length and type in the host's order

std::uint32_t number_at(std::string_view bytes, std::size_t at) {
    std::uint32_t number = 0;
    std::memcpy(&number, bytes.data() + at, sizeof number);
    return number;
}

// A container's children, tiled and floating.
std::vector<QJsonObject> children(const QJsonObject& node) {
    std::vector<QJsonObject> all;
    for (const auto* const list : {"nodes", "floating_nodes"}) {
        for (const QJsonValue child : node.value(QLatin1String(list)).toArray()) {
            all.push_back(child.toObject());
        }
    }
    return all;
}

std::optional<QJsonObject> focused_node(const QJsonObject& tree) {
    std::vector<QJsonObject> rest{tree};
    while (!rest.empty()) {
        QJsonObject node = std::move(rest.back());
        rest.pop_back();
        if (node.value(QLatin1String("focused")).toBool()) {
            return node;
        }
        std::ranges::copy(children(node), std::back_inserter(rest));
    }
    return std::nullopt;
}

// The child that had the focus last.
std::optional<QJsonObject> front_child(const QJsonObject& node) {
    const qint64 id = node.value(QLatin1String("focus")).toArray().first().toInteger();
    const std::vector<QJsonObject> all = children(node);
    const auto found = std::ranges::find_if(
        all, [&](const QJsonObject& child) { return child.value(QLatin1String("id")).toInteger() == id; });
    return found != all.end() ? std::optional(*found) : std::nullopt;
}

ToldWindow focus_of(const QJsonObject& window) {
    ToldWindow found;
    found.focus = {.pid = pid_in(window), .id = window.value(QLatin1String("app_id")).toString()};
    if (found.focus.id.isEmpty()) {
        const QJsonObject properties = window.value(QLatin1String("window_properties")).toObject();
        found.focus.id = properties.value(QLatin1String("class")).toString();
        const qint64 number = window.value(QLatin1String("window")).toInteger();
        found.x11_window =
            number > 0 && number <= std::numeric_limits<std::uint32_t>::max() ? static_cast<std::uint32_t>(number) : 0;
    }
    return found;
}

}  // namespace

std::string in_bytes(const SwayMessage& message) {
    std::string bytes(kMagic);
    for (const std::uint32_t number : {static_cast<std::uint32_t>(message.payload.size()), message.type}) {
        std::array<char, sizeof number> raw{};
        std::memcpy(raw.data(), &number, sizeof number);
        bytes.append(raw.data(), raw.size());
    }
    return bytes + message.payload;
}

tl::expected<std::optional<SwayMessage>, std::string> SwayReader::next() {
    if (const auto seen = std::min(pending_.size(), kMagic.size()); pending_.compare(0, seen, kMagic, 0, seen) != 0) {
        return tl::unexpected<std::string>("what answers does not speak sway's protocol");
    }
    if (pending_.size() < kHeader) {
        return std::nullopt;
    }
    const std::uint32_t length = number_at(pending_, kMagic.size());
    if (length > kMostPayload) {
        return tl::unexpected("a message of " + std::to_string(length) + " bytes, more than any of sway's");
    }
    if (pending_.size() < kHeader + length) {
        return std::nullopt;
    }
    SwayMessage message{.type = number_at(pending_, kMagic.size() + sizeof length),
                        .payload = pending_.substr(kHeader, length)};
    pending_.erase(0, kHeader + length);
    return message;
}

bool moves_focus(const SwayMessage& event) {
    if (event.type == SwayMessage::kWorkspaceEvent) {
        return true;
    }
    static constexpr std::array<std::string_view, 5> kSameWindow{"title", "mark", "urgent", "fullscreen_mode",
                                                                 "floating"};
    const auto read = object_in(event.payload);
    const std::string change = read ? read->value(QLatin1String("change")).toString().toStdString() : std::string();
    return event.type == SwayMessage::kWindowEvent && std::ranges::find(kSameWindow, change) == kSameWindow.end();
}

tl::expected<std::optional<ToldWindow>, std::string> focus_in_tree(std::string_view json) {
    const auto tree = object_in(json);
    if (!tree) {
        return tl::unexpected(tree.error());
    }
    std::optional<QJsonObject> node = focused_node(*tree);
    while (node && !node->contains(QLatin1String("pid"))) {
        node = front_child(*node);
    }
    return node ? std::optional(focus_of(*node)) : std::nullopt;
}

}  // namespace happe::ui
