// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/agent/sources/focus_object.h"

#include <QDBusConnectionInterface>
#include <QDBusError>
#include <QDBusMessage>
#include <utility>

namespace happe::ui {
namespace {

const QString kName = QStringLiteral("org.happe.Focus1");
const QString kPath = QStringLiteral("/org/happe/Focus1");

}  // namespace

FocusObject::FocusObject(QDBusConnection bus, const QString& reporter)
    : bus_(std::move(bus)), reporter_(reporter), owner_(reporter, bus_, QDBusServiceWatcher::WatchForUnregistration) {
    connect(&owner_, &QDBusServiceWatcher::serviceUnregistered, this, [this] { emit gone(); });
}

FocusObject::~FocusObject() {
    if (named_) {
        bus_.unregisterService(kName);
        bus_.unregisterObject(kPath);
    }
}

std::string FocusObject::start() {
    // First the object: a caller that waits for the name calls at once.
    bus_.registerObject(kPath, this, QDBusConnection::ExportScriptableContents | QDBusConnection::ExportAllSlots);
    if (!bus_.registerService(kName)) {
        bus_.unregisterObject(kPath);
        return "another happe-indicator already receives the window in front: org.happe.Focus1 has an owner";
    }
    named_ = true;
    return {};
}

// False if the caller is not the reporter; the call is refused then.
bool FocusObject::from_reporter() const {
    const bool is_teller = message().service() == bus_.interface()->serviceOwner(reporter_).value();
    if (!is_teller) {
        sendErrorReply(QDBusError::AccessDenied, reporter_ + QStringLiteral(" alone says what is in front"));
    }
    return is_teller;
}

// The number in `text`; none if the call was refused.
std::optional<int> FocusObject::number_from_reporter(const QString& name, const QString& text) {
    if (!from_reporter()) {
        return std::nullopt;
    }
    bool is_number = false;
    const int number = text.toInt(&is_number);
    if (!is_number || number < 0) {
        sendErrorReply(QDBusError::InvalidArgs, name + QStringLiteral(": a number is wanted"));
        return std::nullopt;
    }
    return number;
}

void FocusObject::Focus(const QString& pid, const QString& id) {
    if (const auto number = number_from_reporter(QStringLiteral("pid"), pid)) {
        window_ = *number > 0 ? std::optional(ReportedWindow{.focus = {.pid = *number, .id = id}}) : std::nullopt;
        emit changed();
    }
}

void FocusObject::FocusX11(const QString& window, const QString& id) {
    if (const auto number = number_from_reporter(QStringLiteral("window"), window)) {
        const auto x11_window = static_cast<std::uint32_t>(*number);
        window_ = *number > 0 ? std::optional(ReportedWindow{.focus = {.pid = 0, .id = id}, .x11_window = x11_window})
                              : std::nullopt;
        emit changed();
    }
}

void FocusObject::FocusActiveX11(const QString& id) {
    if (from_reporter()) {
        window_ = ReportedWindow{.focus = {.pid = 0, .id = id}, .active_x11 = true};
        emit changed();
    }
}

}  // namespace happe::ui
