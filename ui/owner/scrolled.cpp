// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/owner/scrolled.h"

#include <QScrollArea>

namespace happe::ui {

void show_without_frame(QScrollArea& area, QWidget& all) {
    area.setWidget(&all);
    area.setWidgetResizable(true);
    area.setFrameShape(QFrame::NoFrame);
    area.setFocusPolicy(Qt::NoFocus);  // the buttons take it, and scroll with it
    area.viewport()->setAutoFillBackground(false);
    all.setAutoFillBackground(false);
}

}  // namespace happe::ui
