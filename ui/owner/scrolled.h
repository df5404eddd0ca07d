// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

class QScrollArea;
class QWidget;

namespace happe::ui {

// Puts `all` into `area`, without a frame or a background of its own. The area scrolls if it has too little room.
void show_without_frame(QScrollArea& area, QWidget& all);

}  // namespace happe::ui
