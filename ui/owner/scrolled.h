// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

class QScrollArea;
class QWidget;

namespace happe::ui {

// Shows `all`, as wide as there is room, on what is below it, and scrolls where there is not room enough.
void show_without_frame(QScrollArea& area, QWidget& all);

}  // namespace happe::ui
