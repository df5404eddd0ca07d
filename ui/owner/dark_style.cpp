// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/owner/dark_style.h"

#include <QApplication>
#include <QPalette>
#include <QStyle>

namespace happe::ui {
namespace {

constexpr int kMiddle = 128;  // the middle of the lightness

QPalette dark_like_gnome(const QPalette& light) {
    QPalette dark(QColor(0x3D, 0x3D, 0x41), QColor(0x22, 0x22, 0x26));  // GNOME's buttons, and its window
    dark.setColor(QPalette::Base, QColor(0x34, 0x34, 0x38));            // its cards
    dark.setColor(QPalette::Highlight, light.color(QPalette::Highlight));
    dark.setColor(QPalette::HighlightedText, light.color(QPalette::HighlightedText));
    return dark;
}

}  // namespace

DarkStyle::DarkStyle(const QDBusConnection& session_bus) : desktop_(session_bus) {
    connect(&desktop_, &ThemeWatch::changed, this, &DarkStyle::follow);
}

void DarkStyle::follow() const {
    QApplication::setPalette({});
    const QPalette own = QApplication::palette();
    const bool needed = desktop_.style() == ThemeWatch::Style::Dark &&
                        QApplication::style()->name() == QLatin1String("fusion") &&
                        own.color(QPalette::Window).lightness() > kMiddle;
    if (needed) {
        QApplication::setPalette(dark_like_gnome(own));
    }
}

}  // namespace happe::ui
