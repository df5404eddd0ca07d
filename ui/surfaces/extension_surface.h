// SPDX-License-Identifier: GPL-2.0-or-later
// On GNOME, HAPPE's extension shows the picture (ui/gnome-shell): GNOME lets no program put a window above all others.
#pragma once

#include "ui/bus/desktop_watch.h"
#include "ui/surfaces/surface.h"

#include <QDBusConnection>
#include <QDBusServiceWatcher>
#include <QObject>
#include <string>

namespace happe::ui {

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

}  // namespace happe::ui
