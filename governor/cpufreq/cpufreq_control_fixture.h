// SPDX-License-Identifier: GPL-2.0-or-later
// A CpufreqControl for tests, on a kernel in memory: a T61 with two policies, or a CPU whose driver has its own
// governors.
#pragma once

#include "governor/cpufreq/cpufreq_control.h"
#include "governor/cpufreq/cpufreq_fake.h"
#include "governor/system/temporary_directory_fixture.h"

#include <gtest/gtest.h>

namespace happe {

inline constexpr Khz kLowest{800'000};
inline constexpr Khz kMiddle{1'600'000};
inline constexpr Khz kHigh{2'200'000};
inline constexpr Khz kTop{2'201'000};

class ControlTest : public testing::Test {
protected:
    ControlTest() {
        kernel.defaults = {{"ondemand", {{"sampling_rate", "10000"}, {"up_threshold", "95"}}}};
        kernel.modules = {"conservative"};
    }

    void open() {
        auto opened = CpufreqControl::open(kernel, {.found = file, .speeds = {}});
        ASSERT_TRUE(opened) << opened.error().message;
        control = std::move(*opened);
    }
    void given_a_t61() {
        kernel.add_t61(0, {0});
        kernel.add_t61(1, {1});
        kernel.shared["ondemand"]["up_threshold"] = "80";  // set by some user
        open();
    }
    void given_a_pstate() {
        kernel.add_pstate(0, {0});
        open();
    }

    fake::Kernel::Policy& policy(std::uint16_t id) { return kernel.machine.at({id}); }
    [[nodiscard]] Khz runs_at(std::uint16_t id) const {
        return kernel.frequency({id}, Cpufreq::Frequency::Current)->value_or(Khz{});
    }
    // The speeds below the caps after a period in which each policy's CPUs had these utilisations.
    [[nodiscard]] std::vector<std::optional<Khz>> speeds(const std::vector<Ppm>& cpus) {
        std::vector<PolicySample> samples;
        for (std::size_t i = 0; i < cpus.size(); ++i) {
            const PolicyId id = control->policies()[i].id;
            samples.push_back(
                {.id = id, .current = control->current(id), .ran = {}, .cpus = std::span(cpus).subspan(i, 1)});
        }
        control->measure_speeds(samples);
        std::vector<std::optional<Khz>> ran;
        std::ranges::transform(samples, std::back_inserter(ran), &PolicySample::ran);
        return ran;
    }
    [[nodiscard]] std::optional<Khz> speed() { return speeds({Ppm{500'000}}).front(); }
    [[nodiscard]] bool is_file_there() const { return std::filesystem::exists(file); }

    static void good(const Status& status) { EXPECT_TRUE(status) << status.error().message; }
    static std::string error_of(const Status& status) { return status ? "no error" : status.error().message; }

    TemporaryDirectory directory;
    std::filesystem::path file = directory.path() / "found.json";
    fake::Kernel kernel;
    std::unique_ptr<CpufreqControl> control;
};

}  // namespace happe
