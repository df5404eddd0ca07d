// SPDX-License-Identifier: GPL-2.0-or-later
// A session of the portal's global shortcuts with HAPPE's two shortcuts. It lasts until this object is destroyed:
// https://flatpak.github.io/xdg-desktop-portal/docs/doc-org.freedesktop.portal.GlobalShortcuts.html
#pragma once

#include "ui/shortcuts/shortcut_choice.h"

#include <QDBusConnection>
#include <QDBusMessage>
#include <QDBusObjectPath>
#include <QObject>
#include <QVariantMap>
#include <functional>

namespace happe::ui {

// The portal's name on the session's bus.
[[nodiscard]] QString portal_service();
// Asks for the version of the portal's global shortcuts; an error if it has none.
[[nodiscard]] QDBusMessage shortcuts_version();

class PortalSession final : public QObject {
    Q_OBJECT

public:
    // Begins at once, on a separate connection: the portal forgets the session when this connection ends, and accepts a
    // program's name only before all other calls.
    explicit PortalSession(QObject* parent);
    ~PortalSession() override;
    PortalSession(const PortalSession&) = delete;
    PortalSession& operator=(const PortalSession&) = delete;
    PortalSession(PortalSession&&) = delete;
    PortalSession& operator=(PortalSession&&) = delete;

signals:
    void pressed(const QString& key);  // "performance" or "power"
    // The desktop has given these shortcuts. Emitted again when somebody changes them.
    void given(const Shortcuts& shortcuts);
    // The person declined; or, if not `certain`, the desktop may have failed instead.
    void refused(bool certain);
    // There will be no presses, for this reason.
    void failed(const QString& why);
    // The desktop has ended the session.
    void closed();

private slots:
    void on_created(uint response, const QVariantMap& results);
    void on_listed(uint response, const QVariantMap& results);
    void on_bound(uint response, const QVariantMap& results);
    void on_activated(const QDBusObjectPath& session, const QString& shortcut);
    void on_changed(const QDBusMessage& signal);

private:
    void listen();
    void create();
    void bind();
    void call(const QDBusMessage& question, const std::function<void(const QDBusMessage&)>& answered);
    void begin(const QDBusMessage& question);
    void take(const QVariant& shortcuts);

    QString connection_;
    QDBusConnection bus_;
    QString session_;
};

}  // namespace happe::ui
