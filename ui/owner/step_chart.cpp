// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/owner/step_chart.h"

#include "ui/owner/owner_words.h"

#include <QPainter>
#include <QPainterPath>
#include <algorithm>
#include <ranges>

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

// Moves the texts beside the plot apart, from top to bottom, by their height, but not below `lowest`.
void spread(std::vector<qreal>& middles, qreal height, qreal lowest) {
    for (std::size_t at = 1; at < middles.size(); ++at) {
        middles[at] = std::max(middles[at], middles[at - 1] + height);
    }
    for (qreal& middle : middles | std::views::reverse) {
        middle = std::min(middle, lowest);
        lowest = middle - height;
    }
}

}  // namespace

StepChart::StepChart(QWidget* parent) : QWidget(parent) {
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
    setFocusPolicy(Qt::TabFocus);  // so that screen readers read it
    setAccessibleName(tr("What HAPPE has learned"));
    setMinimumHeight(kLeastLines * fontMetrics().height());
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
                             const std::vector<Press>& presses, std::optional<int> level) {
    profile_ = profile;
    ladder_ = ladder_khz;
    presses_ = presses;
    level_ = level;
    setAccessibleDescription(OwnerWords::chart(profile));
    update();
}

// The same colour in a window that is not active, like the texts beside it.
QColor StepChart::colour(QPalette::ColorRole role) const {
    return palette().color(QPalette::Active, role);
}

QRectF StepChart::plot() const {
    const QFontMetricsF metrics(font());
    const qreal left = metrics.horizontalAdvance(OwnerWords::speed(8'888'888)) + 2 * kGap;
    return QRectF(rect()).adjusted(left, metrics.height(), -kGap - kTriangle, -3 * metrics.height() - 2 * kGap);
}

qreal StepChart::x_of(int level) const {
    return plot().left() + plot().width() * level / kLevels;
}

// The vertical place of a frequency, from the ladder's bottom to its top.
qreal StepChart::y_of(std::uint32_t khz) const {
    const double lowest = ladder_.front();
    const double span = std::max(1.0, double(ladder_.back()) - lowest);
    return plot().bottom() - plot().height() * std::clamp((double(khz) - lowest) / span, 0.0, 1.0);
}

void StepChart::paintEvent(QPaintEvent* /*event*/) {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setLayoutDirection(Qt::LeftToRight);  // an axis goes to the right in every language
    if (ladder_.empty() || profile_.khz.size() != kLevels) {
        painter.drawText(rect(), Qt::AlignCenter, tr("Nothing to show"));
        return;
    }
    paint_axes(painter);
    paint_steps(painter);
    paint_presses(painter);
    if (!presses_.empty()) {
        paint_legend(painter);
    }
    if (hasFocus()) {
        painter.setPen(QPen(palette().highlight(), 2));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(QRectF(rect()).adjusted(1, 1, -1, -1));
    }
}

void StepChart::paint_axes(QPainter& painter) const {
    const QRectF area = plot();
    QColor faint = colour(QPalette::WindowText);
    if (level_) {
        QColor now = colour(QPalette::Highlight);
        now.setAlphaF(0.25F);
        const QRectF column(x_of(*level_), area.top(), area.width() / kLevels, area.height());
        painter.fillRect(column, now);
        painter.setPen(faint);
        const QRectF above(column.center().x() - column.width(), 0, 2 * column.width(), area.top());
        painter.drawText(above, Qt::AlignHCenter | Qt::AlignBottom, tr("now"));
    }
    faint.setAlphaF(0.2F);
    painter.setPen(faint);
    for (const std::uint32_t khz : ladder_) {
        painter.drawLine(QPointF(area.left(), y_of(khz)), QPointF(area.right(), y_of(khz)));
    }
    painter.setPen(colour(QPalette::WindowText));
    paint_speeds(painter);
    for (int level = 0; level <= kLevels; level += 2) {
        const QRectF below(x_of(level) - area.width() / kLevels, area.bottom() + kGap, 2 * area.width() / kLevels,
                           painter.fontMetrics().height());
        painter.drawText(below, Qt::AlignHCenter, QString::number(level * 100 / kLevels));
    }
    painter.drawText(QRectF(area.left(), area.bottom() + kGap + painter.fontMetrics().height(), area.width(),
                            painter.fontMetrics().height()),
                     Qt::AlignHCenter, tr("The CPU's load, in % of its capacity at top speed"));
}

// Writes the speed beside every step of the ladder; if there are more steps than lines, beside every second, third, ...
void StepChart::paint_speeds(QPainter& painter) const {
    const QRectF area = plot();
    const qreal height = painter.fontMetrics().height();
    const auto lines = static_cast<std::size_t>(std::max(1.0, area.height() / height + 1));
    const std::size_t every = (ladder_.size() + lines - 1) / lines;
    std::vector<std::uint32_t> speeds;
    std::vector<qreal> middles;
    for (std::size_t below_top = 0; below_top < ladder_.size(); below_top += every) {
        speeds.push_back(ladder_[ladder_.size() - 1 - below_top]);
        middles.push_back(y_of(speeds.back()));
    }
    spread(middles, height, area.bottom());
    for (std::size_t at = 0; at < speeds.size(); ++at) {
        const QRectF beside(0, middles[at] - height / 2, area.left() - kGap, height);
        painter.drawText(beside, Qt::AlignRight | Qt::AlignVCenter, OwnerWords::speed(speeds[at]));
    }
}

// Explains the triangles.
void StepChart::paint_legend(QPainter& painter) const {
    const QRectF area = plot();
    const QFontMetrics metrics = painter.fontMetrics();
    const qreal line = area.bottom() + kGap + 2.5 * metrics.height();
    const QString words = tr("The last presses, the newest the strongest:");
    qreal left = kGap;
    const auto write = [&](const QString& text) {
        painter.setPen(colour(QPalette::WindowText));
        painter.drawText(QPointF(left, line + metrics.ascent() / 2.0 - 1), text);
        left += metrics.horizontalAdvance(text) + 2 * kGap;
    };
    write(words);
    for (const Key key : {Key::Performance, Key::Power}) {
        painter.setPen(Qt::NoPen);
        painter.setBrush(colour_of(key, palette()));
        painter.drawPath(triangle({left, line}, key));
        left += 2 * kTriangle;
        write(OwnerWords::key(key));
    }
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
        const Press& press = presses_[age];
        QColor filling = colour_of(press.key, palette());
        filling.setAlphaF(float(1.0 - (1.0 - kFaintest) * double(age) / double(kMarked)));
        painter.setPen(QPen(colour(QPalette::Base), 1));
        painter.setBrush(filling);
        const qreal x = (x_of(press.level) + x_of(press.level + 1)) / 2;
        painter.drawPath(triangle({x, y_of(press.to_khz)}, press.key));
    }
}

}  // namespace happe::ui
