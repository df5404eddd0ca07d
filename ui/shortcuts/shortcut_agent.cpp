// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/shortcuts/shortcut_agent.h"

#include "ui/bus/bus_objects.h"

#include <QDBusConnectionInterface>
#include <chrono>
#include <utility>

namespace happe::ui {
namespace {

constexpr std::chrono::seconds kBeforeAnother{1};

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
    again_.setSingleShot(true);
    connect(&again_, &QTimer::timeout, this, [this] {
        if (session_bus_.interface()->isServiceRegistered(portal_service())) {  // follow() would start it
            follow();
        }
    });
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
    again_.stop();
    given_ = false;
    session_ = new PortalSession(this);  // NOLINT(cppcoreguidelines-owning-memory): this object's child
    connect(session_, &PortalSession::pressed, this,
            [this](const QString& key) { system_.send(to_governor(QStringLiteral("Feedback")) << key); });
    connect(session_, &PortalSession::given, this, &ShortcutAgent::take);
    connect(session_, &PortalSession::refused, this, &ShortcutAgent::refuse);
    connect(session_, &PortalSession::closed, this, &ShortcutAgent::session_closed);
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

// A desktop that ends a session before it gives shortcuts does not want to give any.
void ShortcutAgent::session_closed() {
    emit said(QStringLiteral("the desktop has ended the session of the shortcuts"));
    end_session();
    if (given_) {
        again_.start(kBeforeAnother);
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
    given_ = true;
    if (const auto before = ShortcutChoice::get(); before && *before != given && given != Shortcuts{}) {
        ShortcutChoice::set(given);
    }
    emit said(QStringLiteral("%1 for faster, %2 to save power").arg(given.performance, given.power));
}

}  // namespace happe::ui
