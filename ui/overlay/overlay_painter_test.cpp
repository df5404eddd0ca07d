// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/overlay/overlay_painter.h"

#include "ui/overlay/overlay_words.h"

#include <gtest/gtest.h>
#include <QGuiApplication>
#include <QPainter>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <vector>

namespace happe::ui {
namespace {

using namespace std::chrono_literals;

// Relative luminance and contrast, as WCAG 2.2 defines them.
double linear(int channel) {
    const double share = channel / 255.0;
    return share <= 0.04045 ? share / 12.92 : std::pow((share + 0.055) / 1.055, 2.4);
}
double luminance(QRgb colour) {
    return 0.2126 * linear(qRed(colour)) + 0.7152 * linear(qGreen(colour)) + 0.0722 * linear(qBlue(colour));
}
double contrast(double one, double other) {
    return (std::max(one, other) + 0.05) / (std::min(one, other) + 0.05);
}

Shown saving() {
    return {.remaining = 112min,
            .step = 2,
            .steps = 5,
            .khz = 1'200'000,
            .effect = Effect{Key::Power, 1'600'000, 1'200'000, 13min}};
}

Shown hurrying() {
    Shown shown = saving();
    shown.effect = Effect{Key::Performance, 1'600'000, 2'200'000, -20min};
    return shown;
}

Shown detailed() {
    Shown shown = saving();
    shown.details = true;
    shown.power = Power{.from = Power::From::Model, .watts = {std::nullopt, 26.1, 32.3, std::nullopt, 9.5, 28.6}};
    return shown;
}

// A translucent plate is at its darkest above black, and at its lightest above white.
TEST(OverlayPainter, TextHasAContrastOfFourAndAHalfOnEveryBackground) {
    for (const Look look : {Look{}, Look{.dark = false}, Look{.opaque = true}, Look{.dark = false, .opaque = true}}) {
        const Colours palette = colours(look);
        for (const Qt::GlobalColor behind : {Qt::black, Qt::white}) {
            QImage plate(1, 1, QImage::Format_RGB32);
            plate.fill(behind);
            QPainter(&plate).fillRect(plate.rect(), palette.plate);
            for (const QColor& colour : {palette.text, palette.gain, palette.loss}) {
                EXPECT_GE(contrast(luminance(colour.rgb()), luminance(plate.pixel(0, 0))), 4.5) << look.dark;
            }
        }
    }
}

TEST(OverlayPainter, AnOpaquePlateLetsNothingThroughButAtItsCorners) {
    const QImage picture = paint(saving(), {.opaque = true});
    EXPECT_EQ(qAlpha(picture.pixel(0, 0)), 0);
    EXPECT_EQ(qAlpha(picture.pixel(picture.width() / 2, 2)), 255);
}

TEST(OverlayPainter, IsTwiceAsLargeAtTwiceTheDpi) {
    for (const Shown& shown : {saving(), detailed()}) {
        const QSize once = paint(shown, {.scale = 1.0}).size();
        const QSize twice = paint(shown, {.scale = 2.0}).size();
        EXPECT_NEAR(twice.width(), 2 * once.width(), 1);
        EXPECT_NEAR(twice.height(), 2 * once.height(), 1);
    }
}

TEST(OverlayPainter, ShowsEachStepOfTheLadder) {
    Shown shown = saving();
    QImage before = paint(shown, {});
    for (shown.step = 3; shown.step <= shown.steps; ++shown.step) {
        const QImage after = paint(shown, {});
        EXPECT_NE(before, after) << shown.step;
        before = after;
    }
}

TEST(OverlayPainter, FillsTheBatteryAsFarAsItIsCharged) {
    Shown shown = saving();
    const QImage without = paint(shown, {});
    shown.charge_percent = 100;
    const QImage full = paint(shown, {});
    EXPECT_GT(full.width(), without.width());
    shown.charge_percent = 50;
    const QImage half = paint(shown, {});
    EXPECT_EQ(half.size(), full.size());
    const auto bright = [](const QImage& image) {
        int found = 0;
        for (int y = 0; y < image.height() / 2; ++y) {
            for (int x = 0; x < 45; ++x) {
                found += qGreen(image.pixel(x, y)) > 200 ? 1 : 0;
            }
        }
        return found;
    };
    EXPECT_GT(bright(full), bright(half) + 50);
}

TEST(OverlayPainter, ShowsALadderOfManySteps) {
    Shown shown = saving();
    shown.steps = 40;
    const QImage low = paint(shown, {});
    shown.step = 39;
    EXPECT_NE(paint(shown, {}), low);
}

TEST(OverlayPainter, IsNarrowerWithoutAnEffect) {
    Shown shown = saving();
    shown.effect.reset();
    EXPECT_LT(paint(shown, {}).width(), paint(saving(), {}).width());
}

// The heights of the graph's line from left to right, on a black background with a scale of 1; none: no line there.
std::vector<std::optional<int>> heights(const Shown& shown) {
    const QImage picture = paint(shown, {.opaque = true});
    const auto is_bright = [&](int x, int y) { return qGreen(picture.pixel(x, y)) > 128; };
    int bottom = picture.height() - 3;  // the scale's lower end is the longest line
    const auto in_row = [&](int y) {
        int found = 0;
        for (int x = 0; x < picture.width(); ++x) {
            found += is_bright(x, y) ? 1 : 0;
        }
        return found;
    };
    while (in_row(bottom) < picture.width() / 2) {
        --bottom;
    }
    const double pitch = (in_row(bottom) - 8) / double(shown.power->watts.size());  // without the label
    std::vector<std::optional<int>> found;
    for (std::size_t step = 0; step < shown.power->watts.size(); ++step) {
        const int x = 12 + static_cast<int>(pitch * (double(step) + 0.5));
        int y = bottom - 2;
        while (y > bottom - 31 && !is_bright(x, y)) {
            --y;
        }
        found.push_back(y > bottom - 31 ? std::optional(bottom - y) : std::nullopt);
    }
    return found;
}

TEST(OverlayPainter, DrawsThePowerAsStepsWithGaps) {
    const auto line = heights(detailed());
    ASSERT_EQ(line.size(), 6U);
    EXPECT_FALSE(line.at(0));
    EXPECT_FALSE(line.at(3));
    // The top, 32 above the bottom, is 35 W.
    EXPECT_NEAR(line.at(1).value_or(0), 26.1 * 32 / 35, 1.5);
    EXPECT_NEAR(line.at(2).value_or(0), 32.3 * 32 / 35, 1.5);
    EXPECT_NEAR(line.at(4).value_or(0), 9.5 * 32 / 35, 1.5);
    EXPECT_NEAR(line.at(5).value_or(0), 28.6 * 32 / 35, 1.5);
    Shown shown = detailed();
    shown.power->watts = {35.0, 20.0};
    EXPECT_NEAR(heights(shown).at(0).value_or(0), 35.0 * 32 / 40, 1.5);  // below the top
}

TEST(OverlayPainter, WithoutASourceOfPowerDetailsAreOnlyTheSpeed) {
    Shown shown = detailed();
    shown.power.reset();
    EXPECT_EQ(paint(shown, {}).height(), paint(saving(), {}).height());
    EXPECT_NE(paint(shown, {}), paint(saving(), {}));
    EXPECT_GT(paint(detailed(), {}).height(), paint(saving(), {}).height() + 40);
}

TEST(OverlayPainter, FitsATrayAsASquare) {
    const QImage icon = paint(saving(), {.icon = true});
    EXPECT_EQ(icon.size(), QSize(64, 64));
    Shown later = saving();
    later.remaining = 111min;
    EXPECT_NE(paint(later, {.icon = true}), icon);
}

TEST(OverlayWords, AreShortInThePicture) {
    EXPECT_EQ(OverlayWords::time(saving()), "1 h 52 min");
    EXPECT_EQ(OverlayWords::effect(saving()), "+13 min");
    EXPECT_EQ(OverlayWords::effect(hurrying()), QString::fromUtf8("−20 min"));
    EXPECT_EQ(OverlayWords::step(saving()), "step 2 of 5");
    EXPECT_EQ(OverlayWords::step(detailed()), QString::fromUtf8("step 2 of 5 · 1.2 GHz"));
    EXPECT_EQ(OverlayWords::clock(saving()), "1:52");
    Shown shown = saving();
    shown.remaining = 7min;
    EXPECT_EQ(OverlayWords::time(shown), "7 min");
    shown.remaining = 65min;
    EXPECT_EQ(OverlayWords::time(shown), "1 h 05 min");
}

TEST(OverlayWords, SayWhatAKeyDidWhereNoTimeIsKnown) {
    Shown shown = saving();
    shown.effect->gained.reset();
    EXPECT_EQ(OverlayWords::effect(shown), "slower");
    EXPECT_EQ(OverlayWords::description(shown), "Step 2 of 5. Last key: slower.");
    shown.charge_percent = 82;
    EXPECT_EQ(OverlayWords::description(shown), "Step 2 of 5. Last key: slower. Battery at 82 %.");
    shown.effect = Effect{Key::Performance, 1'200'000, 1'600'000, {}};
    EXPECT_EQ(OverlayWords::effect(shown), "faster");
    shown.effect = Effect{Key::Power, 800'000, 800'000, 0min};
    EXPECT_EQ(OverlayWords::effect(shown), "lowest");
    shown.effect = Effect{Key::Performance, 800'000, 800'000, 0min};
    EXPECT_EQ(OverlayWords::effect(shown), "highest");
    shown.effect->fastest = true;
    EXPECT_EQ(OverlayWords::effect(shown), "this is the fastest");
    shown.effect->limit_khz = 1'500'000;
    EXPECT_EQ(OverlayWords::effect(shown), "fastest: limit 1.5 GHz");
    EXPECT_NE(OverlayWords::description(shown).indexOf("Last key: this is the fastest, limited by others to 1.5 GHz."),
              -1);
    shown.effect.reset();
    EXPECT_EQ(OverlayWords::effect(shown), "");
}

TEST(OverlayWords, SayThePowerAndWhereItIsFrom) {
    Shown shown = detailed();
    EXPECT_EQ(OverlayWords::power(*shown.power), QString::fromUtf8("29 W modelled · 10 min"));
    shown.effect.reset();
    EXPECT_EQ(OverlayWords::description(shown),
              "Step 2 of 5, 1.2 GHz. Modelled power: 29 W; in the last 10 minutes from 9.5 to 32 W.");
    shown.power = Power{.from = Power::From::Battery, .watts = {9.96, 8.44}};
    EXPECT_EQ(OverlayWords::power(*shown.power), QString::fromUtf8("8.4 W measured · 10 min"));
    EXPECT_EQ(OverlayWords::description(shown),
              "Step 2 of 5, 1.2 GHz. Measured power: 8.4 W; in the last 10 minutes from 8.4 to 10 W.");
}

TEST(OverlayWords, SayWhereTheTimeIsUnknown) {
    Shown shown = saving();
    shown.remaining.reset();
    EXPECT_EQ(OverlayWords::time(shown), "On battery");
    EXPECT_EQ(OverlayWords::clock(shown), QString::fromUtf8("–"));
    shown.on_battery = false;
    EXPECT_EQ(OverlayWords::time(shown), "On mains");
    EXPECT_EQ(OverlayWords::name(shown), "On mains");
}

}  // namespace
}  // namespace happe::ui

int main(int argc, char** argv) {
    qputenv("QT_QPA_PLATFORM", "offscreen");
    testing::InitGoogleTest(&argc, argv);
    const QGuiApplication application(argc, argv);
    return RUN_ALL_TESTS();
}
