// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/agent/sources/idle_watch.h"

#include "ui/surfaces/socket_deadline.h"

#include <ext-idle-notify-v1-client-protocol.h>
#include <wayland-client.h>
#include <QDBusConnectionInterface>
#include <QDBusPendingCallWatcher>
#include <QDBusPendingReply>
#include <QSocketNotifier>
#include <optional>
#include <string_view>
#include <utility>

namespace happe::ui {
namespace {

const QString kMutter = QStringLiteral("org.gnome.Mutter.IdleMonitor");
const QString kMonitor = QStringLiteral("/org/gnome/Mutter/IdleMonitor/Core");

}  // namespace

// The Wayland compositor's notification, of its first seat.
class IdleWatch::Notifier {  // stays where it is: the protocol's listeners have its address
public:
    explicit Notifier(IdleWatch& watch) : watch_(watch) {}

    [[nodiscard]] bool open() {
        display_.reset(wl_display_connect(nullptr));
        if (!display_) {
            return false;
        }
        const SocketDeadline second(wl_display_get_fd(display_.get()));
        registry_.reset(wl_display_get_registry(display_.get()));
        wl_registry_add_listener(registry_.get(), &kRegistry, this);
        if (wl_display_roundtrip(display_.get()) < 0 || !seat_ || !notifier_) {
            return false;
        }
        notification_.reset(ext_idle_notifier_v1_get_idle_notification(
            notifier_.get(), static_cast<std::uint32_t>(kDelay.count()), seat_.get()));
        ext_idle_notification_v1_add_listener(notification_.get(), &kNotification, this);
        wl_display_flush(display_.get());
        readable_.emplace(wl_display_get_fd(display_.get()), QSocketNotifier::Read);
        QObject::connect(&*readable_, &QSocketNotifier::activated, [this] { read(); });
        return true;
    }

private:
    struct Destroy {
        void operator()(wl_display* object) const { wl_display_disconnect(object); }
        void operator()(wl_registry* object) const { wl_registry_destroy(object); }
        void operator()(wl_seat* object) const { wl_seat_destroy(object); }
        void operator()(ext_idle_notifier_v1* object) const { ext_idle_notifier_v1_destroy(object); }
        void operator()(ext_idle_notification_v1* object) const { ext_idle_notification_v1_destroy(object); }
    };
    template <typename Object>
    using Owned = std::unique_ptr<Object, Destroy>;

    static Notifier& self(void* data) { return *static_cast<Notifier*>(data); }

    void bind(std::uint32_t global, std::string_view interface) {
        if (interface == wl_seat_interface.name && !seat_) {
            seat_.reset(static_cast<wl_seat*>(wl_registry_bind(registry_.get(), global, &wl_seat_interface, 1)));
        } else if (interface == ext_idle_notifier_v1_interface.name) {
            notifier_.reset(static_cast<ext_idle_notifier_v1*>(
                wl_registry_bind(registry_.get(), global, &ext_idle_notifier_v1_interface, 1)));
        }
    }

    // After the compositor's end nobody knows of input: nobody is there.
    void read() {
        while (wl_display_prepare_read(display_.get()) != 0) {
            wl_display_dispatch_pending(display_.get());
        }
        wl_display_read_events(display_.get());
        wl_display_dispatch_pending(display_.get());
        if (wl_display_get_error(display_.get()) != 0) {
            readable_->setEnabled(false);
            emit watch_.changed(true);
        }
    }

    static const wl_registry_listener kRegistry;
    static const ext_idle_notification_v1_listener kNotification;

    // C++ destroys the last member first, and these need that order.
    IdleWatch& watch_;
    Owned<wl_display> display_;
    Owned<wl_registry> registry_;
    Owned<wl_seat> seat_;
    Owned<ext_idle_notifier_v1> notifier_;
    Owned<ext_idle_notification_v1> notification_;
    std::optional<QSocketNotifier> readable_;
};

const wl_registry_listener IdleWatch::Notifier::kRegistry{
    .global = [](void* data, wl_registry*, std::uint32_t global, const char* interface,
                 std::uint32_t) { self(data).bind(global, interface); },
    .global_remove = [](void*, wl_registry*, std::uint32_t) {},
};
const ext_idle_notification_v1_listener IdleWatch::Notifier::kNotification{
    .idled = [](void* data, ext_idle_notification_v1*) { emit self(data).watch_.changed(true); },
    .resumed = [](void* data, ext_idle_notification_v1*) { emit self(data).watch_.changed(false); },
};

IdleWatch::IdleWatch(QDBusConnection session_bus) : bus_(std::move(session_bus)) {
    bus_.connect(kMutter, kMonitor, kMutter, QStringLiteral("WatchFired"), this, SLOT(on_fired(uint)));
}

IdleWatch::~IdleWatch() = default;

void IdleWatch::open() {
    notifier_.reset();
    idle_watch_ = active_watch_ = 0;
    if (bus_.isConnected() && bus_.interface()->isServiceRegistered(kMutter).value()) {
        ask_mutter(QStringLiteral("AddIdleWatch"), {QVariant::fromValue(quint64(kDelay.count()))}, [this](uint watch) {
            idle_watch_ = watch;
            emit changed(false);
        });
    } else if (!qEnvironmentVariableIsEmpty("WAYLAND_DISPLAY")) {
        open_notifier();
    }
}

void IdleWatch::open_notifier() {
    auto notifier = std::make_unique<Notifier>(*this);
    if (notifier->open()) {
        notifier_ = std::move(notifier);
        emit changed(false);
    }
}

void IdleWatch::ask_mutter(const QString& method, const QVariantList& arguments,
                           const std::function<void(uint)>& answered) {
    QDBusMessage message = QDBusMessage::createMethodCall(kMutter, kMonitor, kMutter, method);
    message.setArguments(arguments);
    auto* const call = new QDBusPendingCallWatcher(bus_.asyncCall(message), this);
    connect(call, &QDBusPendingCallWatcher::finished, this, [answered](QDBusPendingCallWatcher* done) {
        if (const QDBusPendingReply<uint> watch = *done; !watch.isError()) {
            answered(watch.value());
        }
        done->deleteLater();
    });
}

// The watch for input fires once, and the one for its absence each time.
void IdleWatch::on_fired(uint watch) {
    if (watch == 0) {
        return;
    }
    if (watch == idle_watch_) {
        emit changed(true);
        ask_mutter(QStringLiteral("AddUserActiveWatch"), {}, [this](uint active) { active_watch_ = active; });
    } else if (watch == active_watch_) {
        emit changed(false);
    }
}

}  // namespace happe::ui
