// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/sim/machine.h"

#include <gtest/gtest.h>

namespace happe::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Khz k08{800'000};
constexpr Khz k16{1'600'000};
constexpr Khz k22{2'200'000};
constexpr Khz k23{2'300'000};

TEST(T61Watts, are_table_a2_where_it_has_a_cell) {
    EXPECT_DOUBLE_EQ(t61_watts(k08, 0.0), 24.40);
    EXPECT_DOUBLE_EQ(t61_watts(k08, 1.0), 26.74);
    EXPECT_DOUBLE_EQ(t61_watts(k16, 0.5), 29.51);
    EXPECT_DOUBLE_EQ(t61_watts(k23, 1.0), 45.04);
}

TEST(T61Watts, are_bilinear_between_cells_and_flat_beyond_the_table) {
    EXPECT_DOUBLE_EQ(t61_watts(k08, 0.95), (26.69 + 26.74) / 2);
    EXPECT_DOUBLE_EQ(t61_watts(Khz{1'000'000}, 1.0), (26.74 + 28.55) / 2);
    EXPECT_DOUBLE_EQ(t61_watts(Khz{1'900'000}, 0.0), (26.14 + 29.35) / 2);
    EXPECT_DOUBLE_EQ(t61_watts(Khz{1}, 0.0), 24.40);
    EXPECT_DOUBLE_EQ(t61_watts(Khz{3'000'000}, 2.0), 45.04);
}

TEST(Ondemand, of_the_papers_kernel_chooses_the_lowest_frequency_below_the_threshold) {
    Ondemand governor;
    EXPECT_EQ(governor.next(t61_ladder(), k08, Ppm{800'001}), k23);
    EXPECT_EQ(governor.next(t61_ladder(), k23, Ppm{750'000}), k23) << "between 70 and 80 % it stays";
    // 2.3 GHz * 40 % / 70 % = 1.31 GHz: the lowest at or above is 1.6.
    EXPECT_EQ(governor.next(t61_ladder(), k23, Ppm{400'000}), k16);
    EXPECT_EQ(governor.next(t61_ladder(), k23, Ppm{0}), k08);
}

TEST(Ondemand, of_todays_kernel_is_proportional_to_the_load) {
    Ondemand governor(Ondemand::Rule::Linux3_9);
    EXPECT_EQ(governor.next(t61_ladder(), k08, Ppm{800'001}), k23);
    // 0.8 + 40 % of 1.5 GHz = 1.4 GHz.
    EXPECT_EQ(governor.next(t61_ladder(), k23, Ppm{400'000}), k16);
    EXPECT_EQ(governor.next(t61_ladder(), k23, Ppm{0}), k08);
}

TEST(Conservative, asks_for_a_twentieth_more_or_less_at_a_time) {
    Conservative governor;
    Khz khz = k08;
    int samples = 0;
    for (; khz < k23 && samples < 100; ++samples) {
        khz = governor.next(t61_ladder(), khz, Ppm{900'000});
    }
    EXPECT_EQ(samples, 14) << "(2300 - 800) / 115 = 13.04 steps";
    EXPECT_EQ(governor.next(t61_ladder(), khz, Ppm{500'000}), k23);
    for (; khz > k08 && samples < 200; ++samples) {
        khz = governor.next(t61_ladder(), khz, Ppm{100'000});
    }
    EXPECT_EQ(samples, 28);
    EXPECT_EQ(governor.next(t61_ladder(), khz, Ppm{0}), k08);
}

TEST(Schedutil, asks_for_a_quarter_more_than_was_used) {
    Schedutil governor;
    Khz khz = k08;
    int samples = 0;
    for (; khz < k23 && samples < 100; ++samples) {
        khz = governor.next(t61_ladder(), khz, kOne);
    }
    EXPECT_GT(samples, 1) << "a busy CPU's average takes time to rise";
    EXPECT_LT(samples, 10);
    for (samples = 0; samples < 20; ++samples) {
        khz = governor.next(t61_ladder(), k23, Ppm{500'000});
    }
    EXPECT_EQ(khz, k16) << "1.25 * 1.15 GHz = 1.44 GHz";
    Schedutil elsewhere;
    elsewhere.arrive(governor);
    EXPECT_EQ(elsewhere.next(t61_ladder(), k08, Ppm{0}), k16) << "a thread that moves is known";
    EXPECT_EQ(elsewhere.next(t61_ladder(), k16, Ppm{0}), k08);
}

TEST(Machine, of_a_policy_for_each_cpu_moves_its_thread_and_scales_each_alone) {
    Fixed found(k08);
    Hardware hardware{.policies = {{PolicyId{0}, {0}, t61_ladder()}, {PolicyId{1}, {1}, t61_ladder()}},
                      .watts =
                          [](std::span<const Load> by_cpu) {
                              return by_cpu[0].khz.value * by_cpu[0].utilisation + by_cpu[1].khz.value;
                          },
                      .moves_every = seconds(1)};
    Machine machine(hardware, {&found, &found}, 0.0);
    machine.run(seconds(1), {400'000, 80'000});
    EXPECT_DOUBLE_EQ(machine.watts(), 0.5 * 800'000 + 800'000);
    EXPECT_TRUE(machine.acquire());
    EXPECT_TRUE(machine.set(PolicyId{1}, k16));
    machine.run(seconds(1), {400'000, 80'000});
    EXPECT_EQ(machine.khz(), k16) << "moved";
    EXPECT_DOUBLE_EQ(machine.watts(), 0.1 * 800'000 + 1'600'000) << "the desktop's thread moved, too";
    EXPECT_EQ((*machine.sample())[0], Ppm{300'000});
}

TEST(Udfs, decays_until_a_press_and_then_more_slowly) {
    Udfs governor;
    EXPECT_EQ(governor.next(t61_ladder(), k16, kOne), k16);
    governor.pass(seconds(10));
    EXPECT_EQ(governor.next(t61_ladder(), k23, kOne), k22);
    governor.pressed(Key::Performance);
    EXPECT_EQ(governor.next(t61_ladder(), k22, kOne), k23);
    governor.pass(seconds(10));
    EXPECT_EQ(governor.next(t61_ladder(), k23, kOne), k23) << "15 s from now on";
    governor.pressed(Key::Power);
    EXPECT_EQ(governor.next(t61_ladder(), k23, kOne), k22);
}

TEST(Machine, does_work_at_its_frequency_and_draws_the_power_of_the_table) {
    Fixed found(k16);
    Machine machine(t61_hardware(), {&found}, 1.5);
    machine.run(seconds(1), {800'000, 160'000});
    EXPECT_DOUBLE_EQ(machine.utilisation(), 0.5);
    EXPECT_DOUBLE_EQ(machine.watts(), 29.51 + 1.5);
    machine.run(seconds(3), {9e6, 0});
    EXPECT_DOUBLE_EQ(machine.utilisation(), 1.0);
    EXPECT_DOUBLE_EQ(machine.mean_watts(), (29.51 + 3 * 32.27) / 4 + 1.5);
    EXPECT_DOUBLE_EQ(machine.mean_utilisation(), 3.5 / 4);
    const auto sampled = *machine.sample();
    EXPECT_EQ(sampled[0], Ppm{875'000});
    EXPECT_EQ(sampled[1], Ppm{25'000});
    EXPECT_EQ((*machine.sample())[0], std::nullopt) << "no time has passed";
}

TEST(Machine, is_its_kernels_until_acquired_and_after_release) {
    Ondemand found;
    Machine machine(t61_hardware(), {&found}, 0.0);
    EXPECT_FALSE(machine.set(PolicyId{0}, k16)) << "not acquired";
    for (int i = 0; i < 3; ++i) {
        machine.run(milliseconds(40), {9e6, 0});
    }
    EXPECT_EQ(machine.khz(), k23);
    EXPECT_TRUE(machine.acquire());
    EXPECT_TRUE(machine.set(PolicyId{0}, k08));
    EXPECT_FALSE(machine.set(PolicyId{1}, k08));
    machine.run(seconds(1), {9e6, 0});
    EXPECT_EQ(machine.khz(), k08);
    EXPECT_EQ(machine.current(PolicyId{0}), k08);
    EXPECT_TRUE(machine.release());
    machine.run(milliseconds(80), {9e6, 0});
    machine.run(milliseconds(40), {9e6, 0});
    EXPECT_EQ(machine.khz(), k23);
}

}  // namespace
}  // namespace happe::sim
