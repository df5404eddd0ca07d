// SPDX-License-Identifier: GPL-2.0-or-later
// Small widgets of the owner's window.
#pragma once

#include "ui/bus/desktop_watch.h"

#include <QFrame>
#include <QLabel>

class QScrollArea;
class QVBoxLayout;

namespace happe::ui {

// A card: a group of widgets on its own background, as in the settings of desktops.
class Card final : public QFrame {
    Q_OBJECT

public:
    using QFrame::QFrame;

    // Adds a card to a column, below a heading. Returns the layout for the card's content.
    static QVBoxLayout* add_to(QVBoxLayout& column, const QString& heading, QWidget* parent, int stretch = 0);

protected:
    void paintEvent(QPaintEvent* event) override;
};

// Puts `all` into `area`, without a frame or a background of its own. The area scrolls if it has too little room.
void show_without_frame(QScrollArea& area, QWidget& all);

// A label that breaks its lines. People can select its text, by keyboard too.
[[nodiscard]] QLabel* text_label(QWidget* parent);

// Shows the text, or no label if there is none.
void say(QLabel& label, const QString& text);

// Makes the application's widgets dark while GNOME's style is dark. Qt's own style would follow only the GTK theme,
// which may be light. Other styles follow GNOME by themselves.
class DarkStyle final : public QObject {
    Q_OBJECT

public:
    explicit DarkStyle(const QDBusConnection& session_bus);

private:
    void follow() const;

    ThemeWatch desktop_;
};

}  // namespace happe::ui
