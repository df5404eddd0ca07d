// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/shortcuts/shortcut_agent.h"

#include "ui/bus/bus_objects.h"

#include <QDBusConnectionInterface>
#include <utility>

namespace happe::ui {
namespace {

QDBusMessage start_portal() {
    return QDBusMessage::createMethodCall(QStringLiteral("org.freedesktop.DBus"),
                                          QStringLiteral("/org/freedesktop/DBus"),
                                          QStringLiteral("org.freedesktop.DBus"), QStringLiteral("StartServiceByName"))
           << portal_service() << uint{0};
}

}  // namespace

ShortcutAgent::ShortcutAgent(QDBusConnection system_bus, QDBusConnection session_bus)
    : system_(std::move(system_bus)),
      session_bus_(std::move(session_bus)),
      portal_(portal_service(), session_bus_, QDBusServiceWatcher::WatchForOwnerChange) {
    connect(&choice_, &ShortcutChoice::changed, this, &ShortcutAgent::follow);
    // Does not restart a portal that has left: it may have crashed, and would crash again.
    connect(&portal_, &QDBusServiceWatcher::serviceOwnerChanged, this,
            [this](const QString& /*name*/, const QString& /*before*/, const QString& now) {
                end_session();
                if (!now.isEmpty()) {
                    follow();
                }
            });
}

void ShortcutAgent::start() {
    follow();
}

void ShortcutAgent::follow() {
    if (!ShortcutChoice::get()) {
        end_session();
    } else if (session_ == nullptr && session_bus_.interface()->isServiceRegistered(portal_service())) {
        open_session();
    } else if (session_ == nullptr) {
        session_bus_.send(start_portal());  // the watcher sees its name appear
    }
}

void ShortcutAgent::open_session() {
    session_ = new PortalSession(this);  // NOLINT(cppcoreguidelines-owning-memory): this object's child
    connect(session_, &PortalSession::pressed, this,
            [this](const QString& key) { system_.send(to_governor(QStringLiteral("Feedback")) << key); });
    connect(session_, &PortalSession::given, this, &ShortcutAgent::take);
    connect(session_, &PortalSession::refused, this, &ShortcutAgent::refuse);
    connect(session_, &PortalSession::failed, this, [this](const QString& why) {
        emit said(why);
        end_session();
    });
}

void ShortcutAgent::end_session() {
    if (session_ != nullptr) {
        session_->disconnect(this);
        std::exchange(session_, nullptr)->deleteLater();
    }
}

// If the desktop has given shortcuts before, it does not ask the person again.
void ShortcutAgent::refuse(bool certain) {
    end_session();
    if (certain || ShortcutChoice::get() == Shortcuts{}) {
        emit said(QStringLiteral("somebody declined them; the desktop will not ask again"));
        ShortcutChoice::set(std::nullopt);
    } else {
        emit said(QStringLiteral("the desktop's portal gives no shortcuts"));
    }
}

// Some desktops do not report the given shortcuts at once.
void ShortcutAgent::take(const Shortcuts& given) {
    if (const auto before = ShortcutChoice::get(); before && *before != given && given != Shortcuts{}) {
        ShortcutChoice::set(given);
    }
    emit said(QStringLiteral("%1 for faster, %2 to save power").arg(given.performance, given.power));
}

}  // namespace happe::ui
