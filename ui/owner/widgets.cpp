// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/owner/widgets.h"

#include <QApplication>
#include <QPainter>
#include <QPalette>
#include <QScrollArea>
#include <QStyle>
#include <QVBoxLayout>

// NOLINTBEGIN(cppcoreguidelines-owning-memory): a widget belongs to its parent, or to the layout that gives it one
namespace happe::ui {
namespace {

constexpr int kMargin = 12;
constexpr qreal kRound = 8;
constexpr float kEdge = 0.15F;  // the share of the text's colour

constexpr int kMiddle = 128;  // the middle of the lightness

QPalette dark_like_gnome(const QPalette& light) {
    QPalette dark(QColor(0x3D, 0x3D, 0x41), QColor(0x22, 0x22, 0x26));  // GNOME's buttons, and its window
    dark.setColor(QPalette::Base, QColor(0x34, 0x34, 0x38));            // its cards
    dark.setColor(QPalette::Highlight, light.color(QPalette::Highlight));
    dark.setColor(QPalette::HighlightedText, light.color(QPalette::HighlightedText));
    return dark;
}

}  // namespace

QVBoxLayout* Card::add_to(QVBoxLayout& column, const QString& heading, QWidget* parent, int stretch) {
    auto* const name = new QLabel(heading, parent);
    QFont bold = name->font();
    bold.setBold(true);
    name->setFont(bold);
    auto* const card = new Card(parent);
    card->setAccessibleName(heading);
    if (!column.isEmpty()) {
        column.addSpacing(column.spacing());
    }
    column.addWidget(name);
    column.addWidget(card, stretch);
    auto* const inside = new QVBoxLayout(card);
    inside->setContentsMargins(kMargin, kMargin, kMargin, kMargin);
    return inside;
}

void Card::paintEvent(QPaintEvent* /*event*/) {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    QColor edge = palette().color(QPalette::WindowText);
    edge.setAlphaF(kEdge);
    painter.setPen(edge);
    painter.setBrush(palette().base());
    painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), kRound, kRound);
}

void show_without_frame(QScrollArea& area, QWidget& all) {
    area.setWidget(&all);
    area.setWidgetResizable(true);
    area.setFrameShape(QFrame::NoFrame);
    area.setFocusPolicy(Qt::NoFocus);  // the buttons take it, and scroll with it
    area.viewport()->setAutoFillBackground(false);
    all.setAutoFillBackground(false);
}

QLabel* text_label(QWidget* parent) {
    auto* const label = new QLabel(parent);
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

DarkStyle::DarkStyle(const QDBusConnection& session_bus) : desktop_(session_bus) {
    connect(&desktop_, &ThemeWatch::changed, this, &DarkStyle::follow);
}

void DarkStyle::follow() const {
    QApplication::setPalette({});
    const QPalette own = QApplication::palette();
    const bool needed = desktop_.style() == ThemeWatch::Style::Dark &&
                        QApplication::style()->name() == QLatin1String("fusion") &&
                        own.color(QPalette::Window).lightness() > kMiddle;
    if (needed) {
        QApplication::setPalette(dark_like_gnome(own));
    }
}

}  // namespace happe::ui
// NOLINTEND(cppcoreguidelines-owning-memory)
