// SPDX-License-Identifier: GPL-2.0-or-later
// On GNOME, HAPPE's extension shows the picture (ui/gnome-shell): GNOME lets no program put a window above all others.
#include "ui/bus/desktop_watch.h"
#include "ui/surfaces/surface.h"

#include <QDBusConnection>
#include <QDBusMessage>
#include <QDBusReply>
#include <QDBusServiceWatcher>
#include <QObject>
#include <string>
#include <utility>

namespace happe::ui {
namespace {

const QString kShell = QStringLiteral("org.gnome.Shell");
const QString kPath = QStringLiteral("/org/happe/Overlay1");
const QString kOverlay = QStringLiteral("org.happe.Overlay1");
constexpr int kShellPatience = 1000;  // milliseconds

QString word_for(Corner corner) {
    return (at_top(corner) ? QStringLiteral("top-") : QStringLiteral("bottom-")) +
           (at_left(corner) ? QStringLiteral("left") : QStringLiteral("right"));
}

QDBusMessage to_overlay(const QString& method) {
    QDBusMessage message = QDBusMessage::createMethodCall(kShell, kPath, kOverlay, method);
    message.setAutoStartService(false);
    return message;
}

class ExtensionSurface final : public QObject, public Surface {
    Q_OBJECT

public:
    ExtensionSurface(Position position, QDBusConnection session_bus, Events events);
    ~ExtensionSurface() override;

    // Waits for at most a second. An error says why there can be no surface.
    [[nodiscard]] std::string open();

    [[nodiscard]] double scale() const override { return scale_; }
    [[nodiscard]] bool translucent() const override { return true; }
    void show(const QImage& picture, const QString& name) override;
    void hide() override;

private slots:
    void on_scale(double scale);

private:
    Position position_;
    QDBusConnection bus_;
    Events events_;
    ExtensionWatch extension_;
    QDBusServiceWatcher shell_;
    double scale_ = 1.0;
    bool shown_ = false;
};

ExtensionSurface::ExtensionSurface(Position position, QDBusConnection session_bus, Events events)
    : position_(std::move(position)),
      bus_(std::move(session_bus)),
      events_(std::move(events)),
      extension_(bus_),
      shell_(kShell, bus_, QDBusServiceWatcher::WatchForUnregistration) {
    bus_.connect(kShell, kPath, kOverlay, QStringLiteral("ScaleChanged"), this, SLOT(on_scale(double)));
    connect(&shell_, &QDBusServiceWatcher::serviceUnregistered, this, [this] { events_.lost(); });
    connect(&extension_, &ExtensionWatch::changed, this, [this](bool enabled) {
        if (!enabled) {
            events_.lost();
        }
    });
}

ExtensionSurface::~ExtensionSurface() {
    if (shown_) {
        ExtensionSurface::hide();
    }
}

std::string ExtensionSurface::open() {
    const QDBusReply<double> scale =
        bus_.call(to_overlay(QStringLiteral("GetScale")) << position_.screen, QDBus::Block, kShellPatience);
    if (!scale.isValid()) {
        return "GNOME shows an overlay only with the extension HAPPE";
    }
    scale_ = scale.value();
    return {};
}

void ExtensionSurface::show(const QImage& picture, const QString& name) {
    const QByteArray pixels(reinterpret_cast<const char*>(picture.constBits()), picture.sizeInBytes());
    bus_.send(to_overlay(QStringLiteral("Show"))
              << word_for(position_.corner) << position_.screen << static_cast<uint>(picture.width())
              << static_cast<uint>(picture.height()) << pixels << name);
    shown_ = true;
}

void ExtensionSurface::hide() {
    bus_.send(to_overlay(QStringLiteral("Hide")));
    shown_ = false;
}

void ExtensionSurface::on_scale(double scale) {
    if (std::exchange(scale_, scale) != scale) {
        events_.changed();
    }
}

}  // namespace

SurfaceOrError open_extension_surface(const Position& position, const QDBusConnection& session_bus,
                                      Surface::Events events) {
    auto surface = std::make_unique<ExtensionSurface>(position, session_bus, std::move(events));
    if (const std::string error = surface->open(); !error.empty()) {
        return tl::unexpected(NoSurface{.why = error});
    }
    return surface;
}

}  // namespace happe::ui

#include "extension_surface.moc"
