// SPDX-License-Identifier: GPL-2.0-or-later
// The last presses, each with a button that undoes it and those after it. Not a table: screen readers cannot see
// buttons in Qt's tables.
#pragma once

#include "ui/owner/owner_state.h"

#include <QScrollArea>
#include <vector>

class QGridLayout;
class QLabel;
class QPushButton;

namespace happe::ui {

class PressList final : public QScrollArea {
    Q_OBJECT

public:
    explicit PressList(QWidget* parent);

    // Newest first.
    void show_presses(const std::vector<LearningEvent>& presses);

    // The button that gets the keyboard first.
    [[nodiscard]] QPushButton* first() const { return rows_.front().undo; }

signals:
    // Somebody pressed the undo button in this row.
    void undo(std::size_t row);

private:
    struct Row {
        std::vector<QLabel*> cells;  // the mark, then the words
        QPushButton* undo;
    };
    Row add_row();
    static void fill(const Row& row, std::size_t place, const LearningEvent& press);

    // Qt owns these: each belongs to its parent.
    QGridLayout* grid_;
    std::vector<Row> rows_;
};

}  // namespace happe::ui
