// SPDX-License-Identifier: GPL-2.0-or-later
// Draws a UAFP as steps: the CPU's speed for each tenth of its work at top speed, and the presses that taught it. Every
// step of the ladder has its speed beside it: at the left, or at the left and right in turn where the ladder is long. A
// chart that is too low for a ladder scrolls it; the axis and the legend stay.
#pragma once

#include "ui/owner/owner_state.h"

#include <QAbstractScrollArea>
#include <QPixmap>

namespace happe::ui {

class StepChart final : public QAbstractScrollArea {
    Q_OBJECT

public:
    explicit StepChart(QWidget* parent = nullptr);

    // The mark of a press of this key in the chart.
    [[nodiscard]] static QPixmap mark(Key key, const QPalette& palette, qreal pixels_of_a_point);

    void show_profile(const OwnProfile& profile, const std::vector<std::uint32_t>& ladder_khz,
                      const std::vector<LearningEvent>& presses, std::optional<int> level);

    [[nodiscard]] QSize sizeHint() const override { return {560, 260}; }
    [[nodiscard]] QSize minimumSizeHint() const override { return {minimumWidth(), 180}; }

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    struct Label {
        std::uint32_t khz;
        qreal middle;
    };

    [[nodiscard]] qreal line() const;  // the height of a speed
    [[nodiscard]] bool on_both_sides() const;
    [[nodiscard]] qreal seen_height() const;
    [[nodiscard]] qreal whole_height() const;
    void fit();  // into the present size
    void scroll_to_profile();
    [[nodiscard]] QColor colour(QPalette::ColorRole role) const;
    [[nodiscard]] QRectF plot() const;
    [[nodiscard]] qreal x_of(int level) const;
    [[nodiscard]] qreal y_of(std::uint32_t khz) const;
    void paint_axis(QPainter& painter) const;
    void paint_now(QPainter& painter) const;
    void paint_ladder(QPainter& painter) const;
    static void spread(std::vector<Label>& labels, qreal height, qreal lowest);
    void paint_speeds(QPainter& painter, bool left, std::vector<Label> labels) const;
    qreal paint_legend(QPainter& painter) const;
    void paint_steps(QPainter& painter) const;
    void paint_presses(QPainter& painter) const;

    OwnProfile profile_;
    std::vector<std::uint32_t> ladder_;
    std::vector<LearningEvent> presses_;  // newest first
    std::optional<int> level_;            // the CPU's now
};

}  // namespace happe::ui
