// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/overlay/overlay_painter.h"

#include "ui/overlay/overlay_words.h"

#include <QFont>
#include <QFontMetricsF>
#include <QPainter>
#include <QPainterPath>
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

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
constexpr double kTerminal = 3.0;  // the battery's terminal, at its right
constexpr double kGraphHeight = 32.0;
constexpr double kGraphGap = 6.0;
constexpr double kLine = 2.0;
constexpr int kScaleOf = 5;  // watts; the graph's top is a multiple of this
constexpr int kIcon = 64;
constexpr int kIconText = 26;
constexpr std::size_t kMostBars = 14;  // for a longer ladder, the picture has only the step's share

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

// A step for each part of the time, from 0 W up to the top.
struct Graph {
    explicit Graph(const Power& power)
        : watts(power.watts),
          most(top_of(power.watts)),
          title(OverlayWords::power(power), font(12, false)),
          top(OverlayWords::watts(most), font(12, false)),
          bottom(OverlayWords::watts(0), font(12, false)) {}

    [[nodiscard]] static int top_of(const std::vector<std::optional<double>>& watts) {
        const double highest = std::ranges::max(watts).value_or(0.0);  // an unknown value is less than any number
        return (static_cast<int>(highest / kScaleOf) + 1) * kScaleOf;  // so the top is above the line
    }
    [[nodiscard]] double height() const { return title.height + kGraphGap + kGraphHeight + kGraphGap; }

    const std::vector<std::optional<double>>& watts;
    int most;
    Text title;
    Text top;
    Text bottom;
};

// Two rows: the battery, its time and the effect of the last key; the ladder and its step. With details a third one:
// the power's title, its graph and the graph's scale.
struct Layout {
    explicit Layout(const Shown& shown)
        : time_left(kPadding + (shown.charge_percent ? kBatteryWidth + kTerminal + kGap : 0.0)),
          time(OverlayWords::time(shown), font(24, true)),
          effect(OverlayWords::effect(shown), font(20, true)),
          step(OverlayWords::step(shown), font(14, false)) {
        if (shown.power) {
            graph.emplace(*shown.power);
        }
    }

    [[nodiscard]] double effect_left() const { return time_left + time.width + (effect.text.isEmpty() ? 0.0 : kGap); }
    [[nodiscard]] static double step_left() { return kPadding + kLadderWidth + kGap; }
    [[nodiscard]] double second_row() const { return kPadding / 2 + time.height + kRowGap; }
    [[nodiscard]] double width() const {
        const double title = graph ? kPadding + graph->title.width : 0.0;
        return std::max({effect_left() + effect.width, step_left() + step.width, title}) + kPadding;
    }
    [[nodiscard]] double third_row() const { return second_row() + step.height + kGraphGap; }
    [[nodiscard]] double height() const {
        const double end = second_row() + step.height;
        return (graph ? third_row() + graph->height() : end) + kPadding / 2;
    }
    // The area of the line.
    [[nodiscard]] QRectF plot() const {
        const double right = width() - kPadding - std::max(graph->top.width, graph->bottom.width) - kGap / 2;
        return {QPointF(kPadding, third_row() + graph->title.height + kGraphGap),
                QPointF(right, third_row() + graph->height() - kGraphGap)};
    }

    double time_left;
    Text time;
    Text effect;
    Text step;
    std::optional<Graph> graph;
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

// Draws a battery with its charge.
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

// Draws a bar for each step, each taller than the one before. Fills those up to the current step.
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

// Draws a line along the steps, with a gap where the power is unknown.
void draw_steps(QPainter& painter, const QRectF& plot, const Graph& graph, const QColor& colour) {
    const double pitch = plot.width() / double(graph.watts.size());
    QPainterPath line;
    bool drawn = false;
    for (std::size_t step = 0; step < graph.watts.size(); ++step) {
        const std::optional<double>& watts = graph.watts.at(step);
        if (watts) {
            const double left = plot.left() + pitch * double(step);
            const double y = std::round(plot.bottom() - plot.height() * *watts / graph.most);
            drawn ? line.lineTo(left, y) : line.moveTo(left, y);
            line.lineTo(left + pitch, y);
        }
        drawn = watts.has_value();
    }
    painter.strokePath(line, QPen(colour, kLine, Qt::SolidLine, Qt::FlatCap, Qt::MiterJoin));
}

void draw_graph(QPainter& painter, const Layout& layout, const QColor& colour) {
    const Graph& graph = *layout.graph;
    const QRectF plot = layout.plot();
    draw(painter, graph.title, kPadding, layout.third_row() + graph.title.ascent, colour);
    painter.setPen(QPen(colour, 1.0, Qt::DotLine));
    painter.drawLine(plot.topLeft(), plot.topRight());
    painter.setPen(QPen(colour, 1.0));
    painter.drawLine(plot.bottomLeft(), plot.bottomRight());
    for (const auto& [label, y] : {std::pair(&graph.top, plot.top()), std::pair(&graph.bottom, plot.bottom())}) {
        draw(painter, *label, layout.width() - kPadding - label->width, y - label->height / 2 + label->ascent, colour);
    }
    draw_steps(painter, plot, graph, colour);
}

void draw_texts(QPainter& painter, const Layout& layout, const Shown& shown, const Colours& colours) {
    const double first = kPadding / 2 + layout.time.ascent;
    const double second = layout.second_row() + layout.step.ascent;
    const bool slower = shown.effect && shown.effect->to_khz <= shown.effect->from_khz;
    if (shown.charge_percent) {
        draw_battery(painter, QPointF(kPadding, first), *shown.charge_percent, colours.text);
    }
    draw(painter, layout.time, layout.time_left, first, colours.text);
    draw(painter, layout.effect, layout.effect_left(), first, slower ? colours.gain : colours.loss);
    draw(painter, layout.step, layout.step_left(), second, colours.text);
    draw_ladder(painter, QPointF(kPadding, second), shown, colours.text);
    if (layout.graph) {
        draw_graph(painter, layout, colours.text);
    }
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
