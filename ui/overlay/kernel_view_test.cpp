// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/overlay/kernel_view.h"

#include <gtest/gtest.h>
#include <unistd.h>
#include <fstream>

namespace happe::ui {
namespace {

namespace fs = std::filesystem;

class KernelViewTest : public testing::Test {
protected:
    KernelViewTest() : root_(fs::temp_directory_path() / ("happe-kernel-" + std::to_string(::getpid()))) {
        fs::create_directories(root_ / "proc");
        fs::create_directories(policy());
        show(1'600'000, "cpu0 100 0 0 100 0 0 0 0", "cpu1 0 0 0 200 0 0 0 0");
    }
    ~KernelViewTest() override { fs::remove_all(root_); }

    [[nodiscard]] fs::path policy() const { return root_ / "sys/devices/system/cpu/cpufreq/policy0"; }

    void show(std::uint32_t khz, const std::string& cpu0, const std::string& cpu1) const {
        std::ofstream(policy() / "scaling_cur_freq") << khz << '\n';
        std::ofstream(root_ / "proc/stat") << "cpu 1 2 3 4 5 6 7 8\n" << cpu0 << '\n' << cpu1 << "\nintr 17\n";
    }

    void ask(const std::string& speed) const { std::ofstream(policy() / "scaling_setspeed") << speed << '\n'; }

    [[nodiscard]] std::uint32_t target_khz(const DaemonState& governor) {
        DaemonState seen = governor;
        view_.look(seen);
        return seen.target_khz.at(0);
    }

    [[nodiscard]] std::uint32_t ppm() {
        DaemonState governor = sealed();
        view_.look(governor);
        return governor.samples.at(0).utilisation_ppm;
    }

    static DaemonState sealed() {
        DaemonState governor;
        governor.run = "K7QX";
        governor.policies = {{0, {800'000, 1'200'000, 1'600'000}, {0, 1}}};
        return governor;
    }

    fs::path root_;
    KernelView view_{root_};
};

TEST_F(KernelViewTest, ShowsTheFrequencyOfNowAndTheOneBeforeWithTheUtilisationBetween) {
    DaemonState first = sealed();
    view_.look(first);
    show(1'200'000, "cpu0 175 0 0 125 0 0 0 0", "cpu1 10 0 0 290 0 0 0 0");
    DaemonState second = sealed();
    view_.look(second);
    EXPECT_EQ(second.target_khz.at(0), 1'200'000U);
    EXPECT_EQ(second.samples.at(0), (DaemonState::Sample{1'600'000, 750'000}));
}

TEST_F(KernelViewTest, ShowsNothingOfAPolicyThatTheKernelDoesNotShow) {
    fs::remove(policy() / "scaling_cur_freq");
    DaemonState governor = sealed();
    view_.look(governor);
    EXPECT_TRUE(governor.target_khz.empty());
}

TEST_F(KernelViewTest, ShowsTheLastUtilisationUntilTimeEnoughForAnotherHasPassed) {
    EXPECT_EQ(ppm(), 500'000U);
    EXPECT_EQ(ppm(), 500'000U);
    show(1'600'000, "cpu0 119 0 0 100 0 0 0 0", "cpu1 0 0 0 219 0 0 0 0");
    EXPECT_EQ(ppm(), 500'000U);
    show(1'600'000, "cpu0 119 0 0 101 0 0 0 0", "cpu1 0 0 0 220 0 0 0 0");
    EXPECT_EQ(ppm(), 950'000U);
}

TEST_F(KernelViewTest, ShowsTheLastUtilisationWhereTimeHasGoneBack) {
    EXPECT_EQ(ppm(), 500'000U);
    show(1'600'000, "cpu0 100 0 0 50 0 0 0 0", "cpu1 0 0 0 150 0 0 0 0");
    EXPECT_EQ(ppm(), 500'000U);
    show(1'600'000, "cpu0 105 0 0 65 0 0 0 0", "cpu1 0 0 0 170 0 0 0 0");
    EXPECT_EQ(ppm(), 250'000U);
}

TEST_F(KernelViewTest, ShowsWhatTheGovernorUserspaceWasAskedFor) {
    show(1'187'654, "", "");
    ask("1600000");
    EXPECT_EQ(target_khz(sealed()), 1'600'000U);
}

TEST_F(KernelViewTest, ShowsTheEntryOfTheLadderThatIsNearestToWhatWasMeasured) {
    ask("<unsupported>");
    for (const auto& [measured, entry] : {std::pair{1'187'654U, 1'200'000U},
                                          {1'213'370U, 1'200'000U},
                                          {500'000U, 800'000U},
                                          {2'500'000U, 1'600'000U}}) {
        show(measured, "", "");
        EXPECT_EQ(target_khz(sealed()), entry);
    }
}

TEST_F(KernelViewTest, TakesAFrequencyThatIsListedAsAnotherByItsRealSpeed) {
    DaemonState boosts = sealed();
    boosts.policies[0].ladder_khz.push_back(1'601'000);
    boosts.real_khz[1'601'000] = 2'000'000;
    for (const auto& [shown, entry] :
         {std::pair{1'610'000U, 1'600'000U}, {1'930'000U, 1'601'000U}, {1'601'000U, 1'601'000U}}) {
        show(shown, "", "");
        EXPECT_EQ(target_khz(boosts), entry);
    }
}

}  // namespace
}  // namespace happe::ui
