// SPDX-License-Identifier: GPL-2.0-or-later
// The last presses, each with a button that undoes it and those after it. No table: a screen reader learns nothing of
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
    void show_presses(const std::vector<Press>& presses);

    // What gets the keyboard first.
    [[nodiscard]] QPushButton* first() const { return rows_.front().undo; }

signals:
    // The button of this press was pressed, by its place in what is shown.
    void undo(std::size_t row);

private:
    struct Row {
        std::vector<QLabel*> cells;  // the mark, then the words
        QPushButton* undo;
    };
    Row add_row();
    static void fill(const Row& row, std::size_t place, const Press& press);

    // Qt's: each belongs to its parent.
    QGridLayout* grid_;
    std::vector<Row> rows_;
};

}  // namespace happe::ui
