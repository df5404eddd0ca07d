// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/owner/press_list.h"

#include "ui/owner/owner_words.h"
#include "ui/owner/step_chart.h"
#include "ui/owner/widgets.h"

#include <QGridLayout>
#include <QLabel>
#include <QPushButton>
#include <QScrollBar>
#include <QVBoxLayout>
#include <algorithm>

// NOLINTBEGIN(cppcoreguidelines-owning-memory): a widget belongs to its parent, or to the layout that gives it one
namespace happe::ui {
namespace {

constexpr int kUndoColumn = 5;
constexpr int kShownRows = 4;
constexpr int kColumnGap = 12;

}  // namespace

PressList::PressList(QWidget* parent) : QScrollArea(parent), grid_(new QGridLayout) {
    auto* const all = new QWidget(this);
    auto* const above = new QVBoxLayout(all);
    above->setContentsMargins(0, 0, 0, 0);
    above->addLayout(grid_);
    grid_->setHorizontalSpacing(kColumnGap);
    above->addStretch();
    show_without_frame(*this, *all);
    setAccessibleName(QStringLiteral("The last key presses that taught HAPPE"));
    all->setAccessibleName(accessibleName());
    int column = 1;
    for (const QString& head :
         {QStringLiteral("When"), QStringLiteral("Key"), QStringLiteral("CPU's load"), QStringLiteral("From and to")}) {
        grid_->addWidget(new QLabel(QStringLiteral("<b>%1</b>").arg(head), all), 0, column++);
    }
    grid_->setColumnStretch(kUndoColumn - 1, 1);
    const int line = QPushButton(QStringLiteral("&Undo")).sizeHint().height() + grid_->verticalSpacing();
    setMinimumHeight(line * kShownRows);
    rows_.push_back(add_row());
    show_presses({});
}

void PressList::show_presses(const std::vector<LearningEvent>& presses) {
    while (rows_.size() < presses.size()) {
        rows_.push_back(add_row());
    }
    for (std::size_t at = 0; at < rows_.size(); ++at) {
        const bool shown = at < presses.size();
        std::ranges::for_each(rows_[at].cells, [&](QLabel* cell) { cell->setVisible(shown); });
        rows_[at].undo->setVisible(shown);
        if (shown) {
            fill(rows_[at], at, presses[at]);
        }
    }
    // Long words widen the window: nobody should have to scroll sideways to a button.
    setMinimumWidth(widget()->minimumSizeHint().width() + verticalScrollBar()->sizeHint().width() + 2 * frameWidth());
}

PressList::Row PressList::add_row() {
    const std::size_t place = rows_.size();
    const int line = static_cast<int>(place) + 1;
    Row row{.cells = {}, .undo = new QPushButton(widget())};
    row.undo->setText(place == 0 ? QStringLiteral("&Undo") : QStringLiteral("Undo the last %1").arg(line));
    for (int column = 0; column < kUndoColumn; ++column) {
        row.cells.push_back(new QLabel(widget()));
        grid_->addWidget(row.cells.back(), line, column);
    }
    grid_->addWidget(row.undo, line, kUndoColumn);
    if (!rows_.empty()) {
        setTabOrder(rows_.back().undo, row.undo);
    }
    connect(row.undo, &QPushButton::clicked, this, [this, place] { emit undo(place); });
    return row;
}

void PressList::fill(const Row& row, std::size_t place, const LearningEvent& press) {
    const Lesson& lesson = press.lesson;
    const QStringList words{
        OwnerWords::when(press.at), OwnerWords::key(lesson.key), OwnerWords::level(lesson.level.value),
        QStringLiteral("%1 → %2").arg(OwnerWords::speed(lesson.from.value), OwnerWords::speed(lesson.to.value))};
    row.cells.front()->setPixmap(StepChart::mark(lesson.key, row.undo->palette(), row.undo->devicePixelRatioF()));
    for (qsizetype at = 0; at < words.size(); ++at) {
        row.cells[static_cast<std::size_t>(at) + 1]->setText(words[at]);
    }
    const QString whole = words.join(QStringLiteral(", "));
    row.undo->setAccessibleName(place == 0 ? QStringLiteral("Undo: %1").arg(whole)
                                           : QStringLiteral("Undo the last %1, back to: %2").arg(place + 1).arg(whole));
}

}  // namespace happe::ui
// NOLINTEND(cppcoreguidelines-owning-memory)
