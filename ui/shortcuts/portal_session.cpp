// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/shortcuts/portal_session.h"

#include "ui/bus/bus_entries.h"
#include "ui/bus/bus_objects.h"

#include <QCoreApplication>
#include <QDBusMetaType>
#include <QDBusPendingCallWatcher>
#include <QRegularExpression>

namespace happe::ui {

// A shortcut in the portal's form.
struct WantedShortcut {
    QString id;
    QVariantMap details;

    friend QDBusArgument& operator<<(QDBusArgument& to, const WantedShortcut& shortcut) {
        to.beginStructure();
        to << shortcut.id << shortcut.details;
        to.endStructure();
        return to;
    }
    friend const QDBusArgument& operator>>(const QDBusArgument& from, WantedShortcut& shortcut) {
        from.beginStructure();
        from >> shortcut.id >> shortcut.details;
        from.endStructure();
        return from;  // NOLINT(bugprone-return-const-ref-from-parameter): as Qt wants it
    }
};

namespace {

const QString kPath = QStringLiteral("/org/freedesktop/portal/desktop");
const QString kInterface = QStringLiteral("org.freedesktop.portal.GlobalShortcuts");
const QString kRequest = QStringLiteral("org.freedesktop.portal.Request");
// Plasma 5 stores the shortcuts by a name that contains this.
const QString kSessionToken = QStringLiteral("happe");
const QString kCreateToken = QStringLiteral("happe_create");
const QString kListToken = QStringLiteral("happe_list");
const QString kBindToken = QStringLiteral("happe_bind");
// Our desktop entry. The desktop shows its name, and stores the shortcuts by it.
const QString kProgram = QStringLiteral("org.happe.Window");
constexpr uint kDone = 0;
constexpr uint kCancelled = 1;

// A new name for a connection that only one object uses.
QString new_connection() {
    static int last = 0;
    return QStringLiteral("happe-shortcuts-%1").arg(++last);
}

// The ids are happed's names of the keys.
QList<WantedShortcut> wanted_shortcuts() {
    const auto wanted = [](const char* id, const char* description, const char* trigger) {
        return WantedShortcut{
            .id = QString::fromLatin1(id),
            .details = {{QStringLiteral("description"), QCoreApplication::translate("Shortcuts", description)},
                        {QStringLiteral("preferred_trigger"), QString::fromLatin1(trigger)}}};
    };
    return {wanted("performance", QT_TRANSLATE_NOOP("Shortcuts", "Faster"), "LOGO+F12"),
            wanted("power", QT_TRANSLATE_NOOP("Shortcuts", "Save power"), "LOGO+F11")};
}

// Reads "Super+F12" from GNOME's text in the user's language: "Press <Super>F12".
QString readable_trigger(const QString& trigger) {
    static const QRegularExpression accelerator(QStringLiteral(R"((<\w+>)+\S+)"));
    const QString keys = accelerator.match(trigger).captured().remove(QLatin1Char('<'));
    return keys.isEmpty() ? trigger : QString(keys).replace(QLatin1Char('>'), QLatin1Char('+'));
}

// Our shortcuts in an answer, if it has at least one of them, even without keys.
std::optional<Shortcuts> given_in(const QVariant& shortcuts) {
    std::optional<Shortcuts> given;
    each_entry(shortcuts, "a(sa{sv})", [&](const QDBusArgument& entry) {
        QString id;
        QVariantMap details;
        entry >> id >> details;
        const QString trigger = readable_trigger(details.value(QStringLiteral("trigger_description")).toString());
        if (const auto key = key_of(id)) {
            Shortcuts& both = given ? *given : given.emplace();
            (*key == Key::Performance ? both.performance : both.power) = trigger;
        }
    });
    return given;
}

QDBusMessage to_portal(const QString& interface, const QString& method) {
    return QDBusMessage::createMethodCall(portal_service(), kPath, interface, method);
}

}  // namespace

QString portal_service() {
    return QStringLiteral("org.freedesktop.portal.Desktop");
}

QDBusMessage shortcuts_version() {
    return to_portal(QStringLiteral("org.freedesktop.DBus.Properties"), QStringLiteral("Get"))
           << kInterface << QStringLiteral("version");
}

PortalSession::PortalSession(QObject* parent)
    : QObject(parent),
      connection_(new_connection()),
      bus_(QDBusConnection::connectToBus(QDBusConnection::SessionBus, connection_)) {
    qDBusRegisterMetaType<WantedShortcut>();
    qDBusRegisterMetaType<QList<WantedShortcut>>();
    listen();
    // Portals from 1.20 on know this call. The answer does not matter: older ones take the name from the process.
    const QDBusMessage name =
        to_portal(QStringLiteral("org.freedesktop.host.portal.Registry"), QStringLiteral("Register"))
        << kProgram << QVariantMap();
    call(name, [this](const auto& /*answer*/) { create(); });
}

PortalSession::~PortalSession() {
    QDBusConnection::disconnectFromBus(connection_);
}

// Listens before the first call, so that no answer comes too early. We know the names of requests and sessions before.
void PortalSession::listen() {
    const QString mine = bus_.baseService().mid(1).replace(QLatin1Char('.'), QLatin1Char('_'));
    const QString requests = kPath + QStringLiteral("/request/") + mine + QLatin1Char('/');
    session_ = kPath + QStringLiteral("/session/") + mine + QLatin1Char('/') + kSessionToken;
    const QString service = portal_service();
    const QString response = QStringLiteral("Response");
    bus_.connect(service, requests + kCreateToken, kRequest, response, this, SLOT(on_created(uint, QVariantMap)));
    bus_.connect(service, requests + kListToken, kRequest, response, this, SLOT(on_listed(uint, QVariantMap)));
    bus_.connect(service, requests + kBindToken, kRequest, response, this, SLOT(on_bound(uint, QVariantMap)));
    bus_.connect(service, kPath, kInterface, QStringLiteral("Activated"), this,
                 SLOT(on_activated(QDBusObjectPath, QString)));
    bus_.connect(service, kPath, kInterface, QStringLiteral("ShortcutsChanged"), this, SLOT(on_changed(QDBusMessage)));
    bus_.connect(service, session_, QStringLiteral("org.freedesktop.portal.Session"), QStringLiteral("Closed"), this,
                 SIGNAL(closed()));
}

void PortalSession::call(const QDBusMessage& question, const std::function<void(const QDBusMessage&)>& answered) {
    auto* const watcher = new QDBusPendingCallWatcher(bus_.asyncCall(question), this);
    connect(watcher, &QDBusPendingCallWatcher::finished, this, [answered](QDBusPendingCallWatcher* finished) {
        finished->deleteLater();
        answered(finished->reply());
    });
}

// Begins a request, whose answer comes by a signal.
void PortalSession::begin(const QDBusMessage& question) {
    call(question, [this](const QDBusMessage& answer) {
        if (answer.type() == QDBusMessage::ErrorMessage) {
            emit failed(answer.errorMessage());
        }
    });
}

// Plasma 5.27 takes the shortcuts with the session, without asking the person. Others ignore this option.
void PortalSession::create() {
    begin(to_portal(kInterface, QStringLiteral("CreateSession"))
          << QVariantMap{{QStringLiteral("handle_token"), kCreateToken},
                         {QStringLiteral("session_handle_token"), kSessionToken},
                         {QStringLiteral("shortcuts"), QVariant::fromValue(wanted_shortcuts())}});
}

void PortalSession::on_created(uint response, const QVariantMap& results) {
    const QVariant shortcuts = results.value(QStringLiteral("shortcuts"));
    if (response != kDone) {
        emit failed(QStringLiteral("the desktop's portal begins no session"));
    } else if (shortcuts.isValid()) {
        take(shortcuts);
    } else {
        begin(to_portal(kInterface, QStringLiteral("ListShortcuts"))
              << QDBusObjectPath(session_) << QVariantMap{{QStringLiteral("handle_token"), kListToken}});
    }
}

// Plasma 6 stores earlier shortcuts, and would open its settings at each BindShortcuts. GNOME lists none before
// BindShortcuts.
void PortalSession::on_listed(uint /*response*/, const QVariantMap& results) {
    if (const auto kept = given_in(results.value(QStringLiteral("shortcuts")))) {
        emit given(*kept);
    } else {
        bind();
    }
}

// GNOME does not ask the person about shortcuts that it has stored for this program.
void PortalSession::bind() {
    begin(to_portal(kInterface, QStringLiteral("BindShortcuts"))
          << QDBusObjectPath(session_) << QVariant::fromValue(wanted_shortcuts()) << QString()
          << QVariantMap{{QStringLiteral("handle_token"), kBindToken}});
}

// GNOME's portal 48.0 never sends the response "done", whether the person accepts or declines.
void PortalSession::on_bound(uint response, const QVariantMap& results) {
    const QVariant shortcuts = results.value(QStringLiteral("shortcuts"));
    if (response == kDone || shortcuts.isValid()) {
        take(shortcuts);
    } else {
        emit refused(response == kCancelled);
    }
}

void PortalSession::take(const QVariant& shortcuts) {
    emit given(given_in(shortcuts).value_or(Shortcuts{}));
}

void PortalSession::on_activated(const QDBusObjectPath& session, const QString& shortcut) {
    if (session.path() == session_ && key_of(shortcut)) {
        emit pressed(shortcut);
    }
}

void PortalSession::on_changed(const QDBusMessage& signal) {
    if (signal.arguments().value(0).value<QDBusObjectPath>().path() == session_) {
        take(signal.arguments().value(1));
    }
}

}  // namespace happe::ui
