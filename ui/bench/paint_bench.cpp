// SPDX-License-Identifier: GPL-2.0-or-later
// How long the overlay's picture takes.
#include "ui/overlay/overlay_painter.h"

#include <benchmark/benchmark.h>
#include <QGuiApplication>

namespace happe::ui {
namespace {

using namespace std::chrono_literals;

void painting(benchmark::State& state) {
    const Shown shown{.remaining = 112min,
                      .step = 2,
                      .steps = 5,
                      .khz = 1'200'000,
                      .effect = Effect{Key::Power, 1'600'000, 1'200'000, 13min}};
    const Look look{.scale = double(state.range(0))};
    for (auto _ : state) {
        benchmark::DoNotOptimize(paint(shown, look));
    }
}
BENCHMARK(painting)->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace happe::ui

int main(int argc, char** argv) {
    qputenv("QT_QPA_PLATFORM", "offscreen");
    const QGuiApplication application(argc, argv);
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
