// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/owner/text_label.h"

namespace happe::ui {

QLabel* text_label(QWidget* parent) {
    auto* const label = new QLabel(parent);  // NOLINT(cppcoreguidelines-owning-memory): it belongs to its parent
    label->setWordWrap(true);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    return label;
}

// Screen readers announce a change of the accessible name, so the name is the text.
void say(QLabel& label, const QString& text) {
    label.setText(text);
    label.setAccessibleName(text);
    label.setVisible(!text.isEmpty());
}

}  // namespace happe::ui
