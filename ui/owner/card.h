// SPDX-License-Identifier: GPL-2.0-or-later
// A group of what belongs together, on a surface of its own, as the settings of desktops show it.
#pragma once

#include <QFrame>

class QVBoxLayout;

namespace happe::ui {

class Card final : public QFrame {
    Q_OBJECT

public:
    using QFrame::QFrame;

    // Adds one to a column, below its heading; for what belongs on it.
    static QVBoxLayout* add_to(QVBoxLayout& column, const QString& heading, QWidget* parent, int stretch = 0);

protected:
    void paintEvent(QPaintEvent* event) override;
};

}  // namespace happe::ui
