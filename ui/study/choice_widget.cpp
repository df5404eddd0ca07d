// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/study/choice_widget.h"

#include "ui/study/page_builder.h"

#include <QBoxLayout>
#include <QButtonGroup>
#include <QKeyEvent>
#include <QPainter>
#include <QRadioButton>
#include <QStyle>
#include <QStyleOptionButton>

namespace happe::study {
namespace {

// An answer whose whole area is a button. It leaves Enter to the page: on some desktops Enter would press it.
class Line : public QRadioButton {
public:
    using QRadioButton::QRadioButton;

protected:
    [[nodiscard]] bool hitButton(const QPoint& at) const override { return rect().contains(at); }
    void keyPressEvent(QKeyEvent* event) override {
        if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) {
            event->ignore();
        } else {
            QRadioButton::keyPressEvent(event);
        }
    }
};

// A number in a box.
class Tile final : public Line {
public:
    using Line::Line;

protected:
    void paintEvent(QPaintEvent* /*event*/) override {
        QStyleOptionButton option;
        initStyleOption(&option);
        QPainter painter(this);
        style()->drawPrimitive(QStyle::PE_Widget, &option, &painter, this);
        painter.drawText(rect(), Qt::AlignCenter, text());
    }
};

QRadioButton& button_of(ChoiceWidget::Shape shape, const QString& answer, QWidget& parent) {
    if (shape == ChoiceWidget::Shape::Row) {
        return *made_in<Tile>(parent, answer);
    }
    return *made_in<Line>(parent, answer);
}

}  // namespace

ChoiceWidget::ChoiceWidget(Shape shape, const QStringList& answers, int first, QWidget* parent)
    : QWidget(parent), group_(made_in<QButtonGroup>(*this)), first_(first) {
    const auto direction = shape == Shape::Row ? QBoxLayout::LeftToRight : QBoxLayout::TopToBottom;
    auto* const layout = std::make_unique<QBoxLayout>(direction, this).release();
    layout->setContentsMargins(0, 0, 0, 0);
    for (const QString& answer : answers) {
        QRadioButton& button = button_of(shape, answer, *this);
        button.setObjectName(shape == Shape::Row ? QStringLiteral("tile") : QStringLiteral("answer"));
        button.setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
        button.setAccessibleName(answer);
        group_->addButton(&button, static_cast<int>(group_->buttons().size()));
        layout->addWidget(&button);
    }
    setFocusProxy(group_->button(0));
    connect(group_, &QButtonGroup::idToggled, this, &ChoiceWidget::changed);
}

int ChoiceWidget::chosen() const {
    return group_->checkedId();
}

void ChoiceWidget::describe(int answer, const QString& name) {
    group_->button(answer)->setAccessibleName(name);
}

void ChoiceWidget::choose(int answer) {
    if (QAbstractButton* const button = group_->button(answer); button != nullptr) {
        button->setFocus(Qt::ShortcutFocusReason);
        button->setChecked(true);
    }
}

void ChoiceWidget::keyPressEvent(QKeyEvent* event) {
    const int key = event->key();
    if (key == Qt::Key_Return || key == Qt::Key_Enter) {
        emit confirmed();
    } else if (key >= Qt::Key_0 && key <= Qt::Key_9) {
        choose(key - Qt::Key_0 - first_);
    } else {
        QWidget::keyPressEvent(event);
    }
}

}  // namespace happe::study
