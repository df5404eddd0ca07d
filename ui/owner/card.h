// SPDX-License-Identifier: GPL-2.0-or-later
// A card: a group of widgets on its own background, as in the settings of desktops.
#pragma once

#include <QFrame>

class QVBoxLayout;

namespace happe::ui {

class Card final : public QFrame {
    Q_OBJECT

public:
    using QFrame::QFrame;

    // Adds a card to a column, below a heading. Returns the layout for the card's content.
    static QVBoxLayout* add_to(QVBoxLayout& column, const QString& heading, QWidget* parent, int stretch = 0);

protected:
    void paintEvent(QPaintEvent* event) override;
};

}  // namespace happe::ui
