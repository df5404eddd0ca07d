// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/owner/step_chart.h"

#include "ui/owner/owner_words.h"

#include <QPainter>
#include <QPainterPath>
#include <QScrollBar>
#include <algorithm>
#include <cmath>
#include <ranges>
#include <utility>

namespace happe::ui {
namespace {

constexpr qreal kGap = 8;       // between the plot and the text beside it
constexpr qreal kTriangle = 6;  // half of a press's mark
constexpr std::size_t kMarked = 8;
constexpr int kLeastLines = 10;
constexpr qreal kFaintest = 0.35;

// Each colour has a contrast of 3:1 to the window, dark or light.
QColor colour_of(Key key, const QPalette& palette) {
    if (palette.color(QPalette::Window).lightness() < palette.color(QPalette::WindowText).lightness()) {
        return key == Key::Performance ? QColor(0xFF, 0x8A, 0x80) : QColor(0x69, 0xDB, 0x7C);
    }
    return key == Key::Performance ? QColor(0xC0, 0x39, 0x2B) : QColor(0x1E, 0x84, 0x49);
}

// The triangle points up for faster, and down for save power.
QPainterPath triangle(const QPointF& middle, Key key) {
    const qreal tip = key == Key::Performance ? -kTriangle : kTriangle;
    QPainterPath path(middle + QPointF(0, tip));
    path.lineTo(middle + QPointF(kTriangle, -tip));
    path.lineTo(middle + QPointF(-kTriangle, -tip));
    path.closeSubpath();
    return path;
}

}  // namespace

StepChart::StepChart(QWidget* parent) : QAbstractScrollArea(parent) {
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
    setFocusPolicy(Qt::TabFocus);  // so that screen readers read it, and keys scroll it
    setAccessibleName(QStringLiteral("What HAPPE has learned"));
    setFrameShape(QFrame::NoFrame);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    viewport()->setAutoFillBackground(false);
    setMinimumHeight(kLeastLines * fontMetrics().height());
    QPixmap nothing(1, 1);
    QPainter painter(&nothing);
    painter.setFont(font());
    setMinimumWidth(static_cast<int>(std::ceil(paint_legend(painter))) + verticalScrollBar()->sizeHint().width());
}

QPixmap StepChart::mark(Key key, const QPalette& palette, qreal pixels_of_a_point) {
    constexpr int kSide = static_cast<int>(2 * kTriangle) + 2;
    QPixmap picture(QSize(kSide, kSide) * pixels_of_a_point);
    picture.setDevicePixelRatio(pixels_of_a_point);
    picture.fill(Qt::transparent);
    QPainter painter(&picture);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(colour_of(key, palette));
    painter.drawPath(triangle({kSide / 2.0, kSide / 2.0}, key));
    return picture;
}

void StepChart::show_profile(const OwnProfile& profile, const std::vector<std::uint32_t>& ladder_khz,
                             const std::vector<LearningEvent>& presses, std::optional<int> level) {
    const bool another = profile.application != profile_.application || ladder_khz != ladder_;
    profile_ = profile;
    ladder_ = ladder_khz;
    presses_ = presses;
    level_ = level;
    setAccessibleDescription(OwnerWords::chart(profile, ladder_khz));
    if (another) {
        fit();
        scroll_to_profile();
    }
    viewport()->update();
}

// The same colour in a window that is not active, like the texts beside it.
QColor StepChart::colour(QPalette::ColorRole role) const {
    return palette().color(QPalette::Active, role);
}

// No letter of a speed reaches below its line.
qreal StepChart::line() const {
    return QFontMetricsF(font()).ascent();
}

// Above the plot is "now"; below it are the axis with its name, and the legend.
qreal StepChart::seen_height() const {
    return viewport()->height() - 4 * QFontMetricsF(font()).height() - 2 * kGap;
}

// The visible part of the plot.
QRectF StepChart::plot() const {
    const QFontMetricsF metrics(font());
    const qreal beside = metrics.horizontalAdvance(OwnerWords::speed(8'888'888)) + 2 * kGap;
    const qreal right = viewport()->width() - (on_both_sides() ? beside : kGap + kTriangle);
    return {beside, metrics.height(), right - beside, seen_height()};
}

bool StepChart::on_both_sides() const {
    return (double(ladder_.size()) - 1) * line() > seen_height();
}

// The height of the whole plot: high enough for a line of text between two speeds of one side.
qreal StepChart::whole_height() const {
    return std::max(seen_height(), (double(ladder_.size()) - 1) * line() / (on_both_sides() ? 2 : 1));
}

// Keeps the middle of the view in the middle.
void StepChart::fit() {
    QScrollBar& bar = *verticalScrollBar();
    const int middle = bar.value() + bar.pageStep() / 2;
    bar.setPageStep(static_cast<int>(seen_height()));
    bar.setSingleStep(static_cast<int>(line()));
    bar.setRange(0, static_cast<int>(std::ceil(whole_height() - seen_height())));
    bar.setValue(middle - bar.pageStep() / 2);
}

void StepChart::scroll_to_profile() {
    if (!ladder_.empty() && !profile_.khz.empty()) {
        QScrollBar& bar = *verticalScrollBar();
        const qreal middle = (y_of(profile_.khz.front()) + y_of(profile_.khz.back())) / 2;
        bar.setValue(bar.value() + static_cast<int>(middle - plot().center().y()));
    }
}

void StepChart::resizeEvent(QResizeEvent* event) {
    QAbstractScrollArea::resizeEvent(event);
    fit();
}

qreal StepChart::x_of(int level) const {
    return plot().left() + plot().width() * level / kLevels;
}

// The vertical place of a frequency, from the ladder's bottom to its top.
qreal StepChart::y_of(std::uint32_t khz) const {
    const double lowest = ladder_.front();
    const double span = std::max(1.0, double(ladder_.back()) - lowest);
    const qreal bottom = plot().top() + whole_height() - verticalScrollBar()->value();
    return bottom - whole_height() * std::clamp((double(khz) - lowest) / span, 0.0, 1.0);
}

void StepChart::paintEvent(QPaintEvent* /*event*/) {
    QPainter painter(viewport());
    painter.setRenderHint(QPainter::Antialiasing);
    const QRectF all(viewport()->rect());
    if (ladder_.empty() || profile_.khz.size() != kLevels) {
        painter.drawText(all, Qt::AlignCenter, QStringLiteral("Nothing to show"));
        return;
    }
    painter.save();
    paint_now(painter);
    paint_axis(painter);
    paint_legend(painter);
    painter.restore();
    painter.save();
    painter.setClipRect(QRectF(all.left(), plot().top() - line() / 2, all.width(), plot().height() + line()));
    paint_ladder(painter);
    paint_steps(painter);
    paint_presses(painter);
    painter.restore();
    if (hasFocus()) {
        painter.setPen(QPen(palette().highlight(), 2));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(all.adjusted(1, 1, -1, -1));
    }
}

// Colours the column of the CPU's load.
void StepChart::paint_now(QPainter& painter) const {
    if (!level_) {
        return;
    }
    const QRectF area = plot();
    QColor now = colour(QPalette::Highlight);
    now.setAlphaF(0.25F);
    const QRectF column(x_of(*level_), area.top(), area.width() / kLevels, area.height());
    painter.fillRect(column, now);
    painter.setPen(colour(QPalette::WindowText));
    const QRectF above(column.center().x() - column.width(), 0, 2 * column.width(), area.top());
    painter.drawText(above, Qt::AlignHCenter | Qt::AlignBottom, QStringLiteral("now"));
}

void StepChart::paint_axis(QPainter& painter) const {
    const QRectF area = plot();
    painter.setPen(colour(QPalette::WindowText));
    for (int level = 0; level <= kLevels; level += 2) {
        const QRectF below(x_of(level) - area.width() / kLevels, area.bottom() + kGap, 2 * area.width() / kLevels,
                           painter.fontMetrics().height());
        painter.drawText(below, Qt::AlignHCenter, QString::number(level * 100 / kLevels));
    }
    painter.drawText(QRectF(area.left(), area.bottom() + kGap + painter.fontMetrics().height(), area.width(),
                            painter.fontMetrics().height()),
                     Qt::AlignHCenter, QStringLiteral("The CPU's load, in % of its capacity at top speed"));
}

// Draws a line for each step of the ladder, and writes its speed beside it.
void StepChart::paint_ladder(QPainter& painter) const {
    const QRectF area = plot();
    const bool both = on_both_sides();
    std::vector<Label> left;
    std::vector<Label> right;
    QColor faint = colour(QPalette::WindowText);
    faint.setAlphaF(0.2F);
    painter.setPen(faint);
    for (const std::uint32_t khz : ladder_ | std::views::reverse) {
        painter.drawLine(QPointF(area.left(), y_of(khz)), QPointF(area.right(), y_of(khz)));
        (both && left.size() > right.size() ? right : left).push_back({khz, y_of(khz)});
    }
    painter.setPen(colour(QPalette::WindowText));
    paint_speeds(painter, true, std::move(left));
    paint_speeds(painter, false, std::move(right));
}

// Moves the texts beside the plot apart, from top to bottom, by their height, but not below `lowest`.
void StepChart::spread(std::vector<Label>& labels, qreal height, qreal lowest) {
    for (std::size_t at = 1; at < labels.size(); ++at) {
        labels[at].middle = std::max(labels[at].middle, labels[at - 1].middle + height);
    }
    for (Label& label : labels | std::views::reverse) {
        label.middle = std::min(label.middle, lowest);
        lowest = label.middle - height;
    }
}

void StepChart::paint_speeds(QPainter& painter, bool left, std::vector<Label> labels) const {
    const QRectF area = plot();
    spread(labels, line(), y_of(ladder_.front()));
    for (const auto& [khz, middle] : labels) {
        const qreal half = painter.fontMetrics().height() / 2.0;
        const qreal edge = left ? 0 : area.right() + kGap;
        const QRectF beside(edge, middle - half, left ? area.left() - kGap : viewport()->width() - edge, 2 * half);
        const Qt::Alignment side = Qt::AlignVCenter | (left ? Qt::AlignRight : Qt::AlignLeft);
        painter.drawText(beside, static_cast<int>(side), OwnerWords::speed(khz));
    }
}

// Explains the triangles. Returns the width that this needs.
qreal StepChart::paint_legend(QPainter& painter) const {
    const QFontMetrics metrics = painter.fontMetrics();
    const qreal line = plot().bottom() + kGap + 2.5 * metrics.height();
    qreal left = kGap;
    const auto write = [&](const QString& text) {
        painter.setPen(colour(QPalette::WindowText));
        painter.drawText(QPointF(left, line + metrics.ascent() / 2.0 - 1), text);
        left += metrics.horizontalAdvance(text) + 2 * kGap;
    };
    write(QStringLiteral("The last presses, the newest the strongest:"));
    for (const Key key : {Key::Performance, Key::Power}) {
        painter.setPen(Qt::NoPen);
        painter.setBrush(colour_of(key, palette()));
        painter.drawPath(triangle({left, line}, key));
        left += 2 * kTriangle;
        write(OwnerWords::key(key));
    }
    return left;
}

void StepChart::paint_steps(QPainter& painter) const {
    QPainterPath steps(QPointF(x_of(0), y_of(profile_.khz.front())));
    for (int level = 0; level < kLevels; ++level) {
        const qreal y = y_of(profile_.khz[static_cast<std::size_t>(level)]);
        steps.lineTo(x_of(level), y);
        steps.lineTo(x_of(level + 1), y);
    }
    painter.setPen(QPen(colour(QPalette::WindowText), 2.5, Qt::SolidLine, Qt::FlatCap, Qt::MiterJoin));
    painter.drawPath(steps);
}

// Draws the newest press last and strongest.
void StepChart::paint_presses(QPainter& painter) const {
    const std::size_t count = std::min(presses_.size(), kMarked);
    for (std::size_t age = count; age-- > 0;) {
        const Lesson& press = presses_[age].lesson;
        QColor filling = colour_of(press.key, palette());
        filling.setAlphaF(float(1.0 - (1.0 - kFaintest) * double(age) / double(kMarked)));
        painter.setPen(QPen(colour(QPalette::Base), 1));
        painter.setBrush(filling);
        const qreal x = (x_of(press.level.value) + x_of(press.level.value + 1)) / 2;
        painter.drawPath(triangle({x, y_of(press.to.value)}, press.key));
    }
}

}  // namespace happe::ui
