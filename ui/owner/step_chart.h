// SPDX-License-Identifier: GPL-2.0-or-later
// Draws a UAFP as steps: the CPU's speed for each tenth of its work at top speed, and the presses that taught it.
#pragma once

#include "ui/owner/owner_state.h"

#include <QPixmap>
#include <QWidget>

namespace happe::ui {

class StepChart final : public QWidget {
    Q_OBJECT

public:
    explicit StepChart(QWidget* parent = nullptr);

    // The mark of a press of this key in the chart.
    [[nodiscard]] static QPixmap mark(Key key, const QPalette& palette, qreal pixels_of_a_point);

    void show_profile(const OwnProfile& profile, const std::vector<std::uint32_t>& ladder_khz,
                      const std::vector<Press>& presses, std::optional<int> level);

    [[nodiscard]] QSize sizeHint() const override { return {560, 260}; }
    [[nodiscard]] QSize minimumSizeHint() const override { return {320, 180}; }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    [[nodiscard]] QColor colour(QPalette::ColorRole role) const;
    [[nodiscard]] QRectF plot() const;
    [[nodiscard]] qreal x_of(int level) const;
    [[nodiscard]] qreal y_of(std::uint32_t khz) const;
    void paint_axes(QPainter& painter) const;
    void paint_speeds(QPainter& painter) const;
    void paint_legend(QPainter& painter) const;
    void paint_steps(QPainter& painter) const;
    void paint_presses(QPainter& painter) const;

    OwnProfile profile_;
    std::vector<std::uint32_t> ladder_;
    std::vector<Press> presses_;  // newest first
    std::optional<int> level_;    // the CPU's now
};

}  // namespace happe::ui
