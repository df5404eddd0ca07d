// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/overlay/overlay_painter.h"

#include "ui/overlay/overlay_words.h"

#include <QFont>
#include <QFontMetricsF>
#include <QPainter>
#include <algorithm>
#include <cmath>

namespace happe::ui {
namespace {

// Lengths are in 96ths of an inch.
constexpr double kPadding = 12.0;
constexpr double kGap = 10.0;
constexpr double kRowGap = 3.0;
constexpr double kRadius = 8.0;
constexpr double kLadderWidth = 70.0;
constexpr double kLadderHeight = 14.0;
constexpr double kLowestBar = 4.0;
constexpr double kBatteryWidth = 30.0;
constexpr double kBatteryHeight = 15.0;
constexpr double kTerminal = 3.0;  // of the battery, at its right
constexpr int kIcon = 64;
constexpr int kIconText = 26;
constexpr std::size_t kMostBars = 14;  // for a longer ladder, draws only the share

QFont font(int size, bool bold) {
    QFont font(QStringLiteral("sans-serif"));
    font.setPixelSize(size);
    font.setBold(bold);
    return font;
}

struct Text {
    Text(QString words, const QFont& in)
        : text(std::move(words)),
          font(in),
          width(QFontMetricsF(in).horizontalAdvance(text)),
          ascent(QFontMetricsF(in).ascent()),
          height(QFontMetricsF(in).height()) {}

    QString text;
    QFont font;
    double width;
    double ascent;
    double height;
};

// Two rows: the battery, its time and the effect of the last key; the ladder and the speed.
struct Layout {
    explicit Layout(const Shown& shown)
        : time_left(kPadding + (shown.charge_percent ? kBatteryWidth + kTerminal + kGap : 0.0)),
          time(OverlayWords::time(shown), font(24, true)),
          effect(OverlayWords::effect(shown), font(20, true)),
          speed(OverlayWords::speed(shown), font(14, false)) {}

    [[nodiscard]] double effect_left() const { return time_left + time.width + (effect.text.isEmpty() ? 0.0 : kGap); }
    [[nodiscard]] static double speed_left() { return kPadding + kLadderWidth + kGap; }
    [[nodiscard]] double second_row() const { return kPadding / 2 + time.height + kRowGap; }
    [[nodiscard]] double width() const {
        return std::max(effect_left() + effect.width, speed_left() + speed.width) + kPadding;
    }
    [[nodiscard]] double height() const { return second_row() + speed.height + kPadding / 2; }

    double time_left;
    Text time;
    Text effect;
    Text speed;
};

void draw(QPainter& painter, const Text& text, double left, double baseline, const QColor& colour) {
    painter.setPen(colour);
    painter.setFont(text.font);
    painter.drawText(QPointF(left, baseline), text.text);
}

void draw_plate(QPainter& painter, const QSizeF& size, const Colours& colours) {
    painter.setPen(Qt::NoPen);
    painter.setBrush(colours.plate);
    painter.drawRoundedRect(QRectF(QPointF(), size), kRadius, kRadius);
}

// A battery, as full as it is charged.
void draw_battery(QPainter& painter, const QPointF& bottom_left, int percent, const QColor& colour) {
    const QRectF body(bottom_left.x() + 0.75, bottom_left.y() - kBatteryHeight, kBatteryWidth - 1.5, kBatteryHeight);
    painter.setPen(QPen(colour, 1.5));
    painter.setBrush(Qt::NoBrush);
    painter.drawRoundedRect(body, 2.0, 2.0);
    painter.fillRect(QRectF(body.right() + 1.5, body.center().y() - kBatteryHeight / 4, kTerminal, kBatteryHeight / 2),
                     colour);
    QRectF charge = body.adjusted(2.5, 2.5, -2.5, -2.5);
    charge.setWidth(charge.width() * percent / 100.0);
    painter.fillRect(charge, colour);
}

// One bar a step, taller and taller; those up to the current one are filled.
void draw_bars(QPainter& painter, const QPointF& bottom_left, const Shown& shown, const QColor& colour) {
    const double pitch = kLadderWidth / double(shown.steps);
    const double rise = shown.steps > 1 ? (kLadderHeight - kLowestBar) / double(shown.steps - 1) : 0.0;
    painter.setPen(QPen(colour, 1.0));
    for (std::size_t step = 0; step < shown.steps; ++step) {
        const double height = kLowestBar + rise * double(step);
        painter.setBrush(step < shown.step ? QBrush(colour) : QBrush(Qt::NoBrush));
        painter.drawRect(QRectF(bottom_left.x() + pitch * double(step) + 0.5, bottom_left.y() - height,
                                std::max(1.0, pitch - 3.0), height));
    }
}

void draw_share(QPainter& painter, const QPointF& bottom_left, const Shown& shown, const QColor& colour) {
    const QRectF whole(bottom_left.x() + 0.5, bottom_left.y() - kLadderHeight / 2, kLadderWidth - 1.0,
                       kLadderHeight / 2);
    QRectF part = whole;
    part.setWidth(whole.width() * double(shown.step) / double(shown.steps));
    painter.setPen(QPen(colour, 1.0));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(whole);
    painter.fillRect(part, colour);
}

void draw_ladder(QPainter& painter, const QPointF& bottom_left, const Shown& shown, const QColor& colour) {
    const auto draw_it = shown.steps <= kMostBars ? draw_bars : draw_share;
    draw_it(painter, bottom_left, shown, colour);
}

void draw_texts(QPainter& painter, const Layout& layout, const Shown& shown, const Colours& colours) {
    const double first = kPadding / 2 + layout.time.ascent;
    const double second = layout.second_row() + layout.speed.ascent;
    const bool slower = shown.effect && shown.effect->to_khz <= shown.effect->from_khz;
    if (shown.charge_percent) {
        draw_battery(painter, QPointF(kPadding, first), *shown.charge_percent, colours.text);
    }
    draw(painter, layout.time, layout.time_left, first, colours.text);
    draw(painter, layout.effect, layout.effect_left(), first, slower ? colours.gain : colours.loss);
    draw(painter, layout.speed, layout.speed_left(), second, colours.text);
    draw_ladder(painter, QPointF(kPadding, second), shown, colours.text);
}

}  // namespace

Colours colours(const Look& look) {
    Colours colours = look.dark ? Colours{.plate = QColor(16, 18, 22, 232),
                                          .text = QColor(255, 255, 255),
                                          .gain = QColor(140, 240, 168),
                                          .loss = QColor(255, 200, 120)}
                                : Colours{.plate = QColor(250, 250, 250, 236),
                                          .text = QColor(16, 18, 22),
                                          .gain = QColor(6, 84, 36),
                                          .loss = QColor(118, 54, 0)};
    if (look.opaque) {
        colours.plate.setAlpha(255);
    }
    return colours;
}

namespace {

QImage paint_plate(const Shown& shown, const Look& look) {
    const Layout layout(shown);
    const QSize size(static_cast<int>(std::ceil(layout.width() * look.scale)),
                     static_cast<int>(std::ceil(layout.height() * look.scale)));
    QImage image(size, QImage::Format_ARGB32_Premultiplied);
    image.fill(Qt::transparent);
    QPainter painter(&image);
    painter.setRenderHints(QPainter::Antialiasing | QPainter::TextAntialiasing);
    painter.scale(look.scale, look.scale);
    const Colours palette = colours(look);
    draw_plate(painter, QSizeF(size) / look.scale, palette);  // whole pixels
    draw_texts(painter, layout, shown, palette);
    return image;
}

// The picture for a tray: "1:52" above the ladder.
QImage paint_icon(const Shown& shown, const Look& look) {
    const Colours palette = colours(look);
    QImage image(kIcon, kIcon, QImage::Format_ARGB32_Premultiplied);
    image.fill(Qt::transparent);
    QPainter painter(&image);
    painter.setRenderHints(QPainter::Antialiasing | QPainter::TextAntialiasing);
    draw_plate(painter, QSizeF(kIcon, kIcon), palette);
    const Text time(OverlayWords::clock(shown), font(kIconText, true));
    draw(painter, time, (kIcon - time.width) / 2, time.ascent, palette.text);
    painter.translate(-(kLadderWidth - kIcon) / 2, 0);
    draw_ladder(painter, QPointF(0, kIcon - kPadding), shown, palette.text);
    return image;
}

}  // namespace

QImage paint(const Shown& shown, const Look& look) {
    return look.icon ? paint_icon(shown, look) : paint_plate(shown, look);
}

}  // namespace happe::ui
