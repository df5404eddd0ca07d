// SPDX-License-Identifier: GPL-2.0-or-later
// libcpupower's root is fixed. So this program has umockdev's preload library, which redirects /sys to the folder in
// UMOCKDEV_DIR. Files there are plain: a kernel would answer writes, and shorten them.
#include "governor/cpufreq/cpupower.h"

#include "governor/core/allocations_fixture.h"
#include "governor/system/temporary_directory_fixture.h"

#include <gtest/gtest.h>
#include <set>

namespace happe {
namespace {

namespace fs = std::filesystem;
using Frequency = Cpufreq::Frequency;

constexpr const char* kRoot = "/sys/devices/system/cpu";

class CpupowerTest : public testing::Test {
public:
    CpupowerTest() {
        ::setenv("UMOCKDEV_DIR", directory.path().c_str(), 1);
        fs::create_directories(real("cpufreq"));
    }
    ~CpupowerTest() override { ::unsetenv("UMOCKDEV_DIR"); }

protected:
    [[nodiscard]] fs::path real(const std::string& file) const {
        return fs::path(directory.path().string() + kRoot) / file;
    }
    void put(const std::string& file, const std::string& text) const { put_text(real(file), text); }
    void put_policy(const std::string& file, const std::string& text) const { put("cpufreq/policy0/" + file, text); }
    [[nodiscard]] std::string text(const std::string& file) const { return text_of(real(file)); }

    void given_a_t61() const {
        const std::map<std::string, std::string> files{
            {"affected_cpus", "0 1"},
            {"related_cpus", "0 1"},
            {"scaling_driver", "acpi-cpufreq"},
            {"scaling_available_governors", "ondemand userspace performance "},
            {"scaling_available_frequencies", "2201000 2200000 1600000 1200000 800000 "},
            {"cpuinfo_min_freq", "800000"},
            {"cpuinfo_max_freq", "2201000"},
            {"bios_limit", "2200000"},
            {"scaling_governor", "powersave"},  // has the length of "userspace"
            {"scaling_min_freq", "800000"},
            {"scaling_max_freq", "2201000"},
            {"scaling_cur_freq", "1187654"},
            {"scaling_setspeed", "1200000"},
        };
        for (const auto& [file, value] : files) {
            put_policy(file, value + "\n");
        }
        for (const char* const cpu : {"cpu0", "cpu1"}) {
            fs::create_directories(real(cpu));
            fs::create_directory_symlink("../cpufreq/policy0", real(cpu) / "cpufreq");
        }
    }

    [[nodiscard]] std::string frequency(Frequency which) const {
        const auto khz = cpupower.frequency({0}, which);
        return !khz ? khz.error().message : *khz ? std::to_string((*khz)->value) : "nothing";
    }
    static std::string error_of(const Status& status) { return status ? "no error" : status.error().message; }

    TemporaryDirectory directory;
    Cpupower cpupower;
};

TEST_F(CpupowerTest, ReadsWhatAPolicyIs) {
    given_a_t61();
    const auto policies = cpupower.policies();
    ASSERT_TRUE(policies) << policies.error().message;
    ASSERT_EQ(policies->size(), 1U);
    const CpufreqPolicy& policy = policies->front();
    EXPECT_EQ(policy.id, PolicyId{0});
    EXPECT_EQ(policy.cpus, (std::vector<unsigned>{0, 1}));
    EXPECT_EQ(policy.driver, "acpi-cpufreq");
    EXPECT_EQ(policy.governors, (std::vector<std::string>{"ondemand", "userspace", "performance"}));
    EXPECT_EQ(policy.frequencies, (std::vector<Khz>{{800'000}, {1'200'000}, {1'600'000}, {2'200'000}, {2'201'000}}));
    EXPECT_EQ(policy.lowest, Khz{800'000});
    EXPECT_EQ(policy.highest, Khz{2'201'000});
    EXPECT_EQ(policy.bios_limit, Khz{2'200'000});
}

TEST_F(CpupowerTest, ReadsAPolicyWithoutTableAndFirmwareLimit) {
    given_a_t61();
    fs::remove(real("cpufreq/policy0/scaling_available_frequencies"));
    fs::remove(real("cpufreq/policy0/bios_limit"));
    const auto policies = cpupower.policies();
    ASSERT_TRUE(policies) << policies.error().message;
    EXPECT_TRUE(policies->front().frequencies.empty());
    EXPECT_EQ(policies->front().bios_limit, std::nullopt);
}

TEST_F(CpupowerTest, AddsBoostFrequenciesAndDropsWhatIsNone) {
    given_a_t61();
    put_policy("scaling_available_frequencies", "800000 1600000 0 99999999999 \n");
    put_policy("scaling_boost_frequencies", "2600000 1600000 \n");
    EXPECT_EQ(cpupower.policies()->front().frequencies, (std::vector<Khz>{{800'000}, {1'600'000}})) << "boost is off";
    EXPECT_EQ(cpupower.policies()->front().highest, Khz{1'600'000}) << "the kernel shows no greater maximum";
    put_policy("cpuinfo_max_freq", "2600000\n");
    EXPECT_EQ(cpupower.policies()->front().frequencies, (std::vector<Khz>{{800'000}, {1'600'000}, {2'600'000}}));
}

TEST_F(CpupowerTest, FindsNoPolicyWithoutCpufreq) {
    EXPECT_TRUE(cpupower.policies()->empty());
    fs::remove(real("cpufreq"));
    ASSERT_TRUE(cpupower.policies());
    EXPECT_TRUE(cpupower.policies()->empty());
}

TEST_F(CpupowerTest, TakesNoPolicyThatItCannotReadForOneOffLine) {
    given_a_t61();
    fs::remove(real("cpufreq/policy0/scaling_governor"));
    fs::remove(real("cpufreq/policy0/affected_cpus"));
    fs::create_directory(real("cpufreq/policy0/affected_cpus"));
    const std::string refused = std::string(kRoot) + "/cpufreq/policy0/affected_cpus: Is a directory";
    const auto policies = cpupower.policies();
    ASSERT_FALSE(policies);
    EXPECT_EQ(policies.error().message, refused);
    const auto settings = cpupower.settings({0});
    ASSERT_FALSE(settings);
    EXPECT_EQ(settings.error().message, refused);
}

TEST_F(CpupowerTest, LeavesOutPoliciesThatAreOffLineAndFilesThatAreNoPolicy) {
    given_a_t61();
    for (const char* const name : {"policyX", "policy", "policy1024", "policy99999999999999999999", "ondemand"}) {
        fs::create_directories(real("cpufreq") / name);
    }
    EXPECT_EQ(cpupower.policies()->size(), 1U);
    put_policy("affected_cpus", "\n");
    EXPECT_TRUE(cpupower.policies()->empty());
}

TEST_F(CpupowerTest, RefusesAPolicyWithoutARangeOfFrequencies) {
    for (const char* const highest : {"0", "700000", "99999999999", "fast", ""}) {
        given_a_t61();
        put_policy("cpuinfo_max_freq", std::string(highest) + "\n");
        EXPECT_FALSE(cpupower.policies()) << highest;
        fs::remove_all(real(""));
    }
}

TEST_F(CpupowerTest, ReadsWhatIsSet) {
    given_a_t61();
    const auto settings = cpupower.settings({0});
    ASSERT_TRUE(settings && *settings);
    EXPECT_EQ(**settings, (CpufreqSettings{
                              .governor = "powersave", .min = {800'000}, .max = {2'201'000}, .speed = Khz{1'200'000}}));
    put_policy("scaling_setspeed", "<unsupported>\n");
    EXPECT_EQ((*cpupower.settings({0}))->speed, std::nullopt);
}

TEST_F(CpupowerTest, ReadsNothingOfAPolicyThatIsOffLineOrGone) {
    EXPECT_EQ(*cpupower.settings({0}), std::nullopt);
    EXPECT_EQ(frequency(Frequency::Current), "nothing");
}

TEST_F(CpupowerTest, SaysWhyWhatIsSetCannotBeRead) {
    given_a_t61();
    fs::remove(real("cpufreq/policy0/scaling_max_freq"));
    EXPECT_EQ(cpupower.settings({0}).error().message,
              std::string(kRoot) + "/cpufreq/policy0: No such file or directory");
    put_policy("scaling_max_freq", "2147483647\n");
    EXPECT_EQ((*cpupower.settings({0}))->max, kHighestKhz) << "no limit, as in a copy of the files";
    EXPECT_EQ(frequency(Frequency::Max), "20000000");
    put_policy("scaling_min_freq", "99999999999\n");
    EXPECT_FALSE(cpupower.settings({0}));
}

TEST_F(CpupowerTest, IsNotMisledByAnErrorBefore) {
    given_a_t61();
    errno = ERANGE;
    EXPECT_TRUE(*cpupower.settings({0}));
    errno = ERANGE;
    EXPECT_EQ(cpupower.policies()->size(), 1U);
}

TEST_F(CpupowerTest, ReadsFrequencies) {
    given_a_t61();
    EXPECT_EQ(frequency(Frequency::Current), "1187654");
    EXPECT_EQ(frequency(Frequency::Speed), "1200000");
    EXPECT_EQ(frequency(Frequency::Min), "800000");
    EXPECT_EQ(frequency(Frequency::Max), "2201000");
    put_policy("scaling_setspeed", "<unsupported>\n");
    EXPECT_EQ(frequency(Frequency::Speed), "nothing");
}

TEST_F(CpupowerTest, HasAnotherOutlineWithAnotherDriverRangeOrTable) {
    given_a_t61();
    std::set<std::string> seen{**cpupower.outline({0})};
    for (const char* const file :
         {"scaling_driver", "cpuinfo_min_freq", "cpuinfo_max_freq", "scaling_available_frequencies"}) {
        EXPECT_TRUE(seen.contains(**cpupower.outline({0})));
        put_policy(file, "900000\n");
        EXPECT_TRUE(seen.insert(**cpupower.outline({0})).second) << file;
    }
    fs::remove(real("cpufreq/policy0/scaling_available_frequencies"));
    EXPECT_TRUE(**cpupower.outline({0}) != "");
    EXPECT_EQ(*cpupower.outline({1}), std::nullopt);
}

TEST_F(CpupowerTest, RefusesWhatIsNoFrequency) {
    given_a_t61();
    for (const char* const text :
         {"0", "-1", "20000001", "1e6", " 800000", "800000 ", "0x10", "99999999999999999999", ""}) {
        put_policy("scaling_setspeed", std::string(text) + "\n");
        EXPECT_EQ(frequency(Frequency::Speed),
                  std::string(kRoot) + "/cpufreq/policy0/scaling_setspeed: not a frequency: \"" + text + "\"");
    }
    put_policy("scaling_setspeed", std::string(100, '1') + "\n");
    EXPECT_TRUE(frequency(Frequency::Speed).ends_with("no line within 32 bytes"));
}

TEST_F(CpupowerTest, SetsFrequencies) {
    given_a_t61();
    EXPECT_EQ(error_of(cpupower.set_frequency({0}, Frequency::Speed, {2'200'000})), "no error");
    EXPECT_EQ(error_of(cpupower.set_frequency({0}, Frequency::Max, {800'000})), "no error");
    EXPECT_EQ(frequency(Frequency::Speed), "2200000");
    EXPECT_EQ(frequency(Frequency::Max), "800000");
    EXPECT_EQ(text("cpufreq/policy0/scaling_governor"), "powersave\n");
}

TEST_F(CpupowerTest, SaysWhichFrequencyCouldNotBeSet) {
    EXPECT_EQ(error_of(cpupower.set_frequency({0}, Frequency::Speed, {2'200'000})),
              std::string(kRoot) + "/cpufreq/policy0/scaling_setspeed: No such file or directory");
}

TEST_F(CpupowerTest, TakesNoMemoryForASample) {
    given_a_t61();
    const auto sample = [this] {
        return cpupower.frequency({0}, Frequency::Speed).has_value() &&
               cpupower.frequency({0}, Frequency::Current).has_value() &&
               cpupower.set_frequency({0}, Frequency::Speed, {1'600'000}).has_value();
    };
    EXPECT_TRUE(sample());  // this opens the files
    const std::size_t before = allocations;
    EXPECT_TRUE(sample());
    EXPECT_EQ(allocations, before);
}

TEST_F(CpupowerTest, SetsAGovernorAndNothingElse) {
    given_a_t61();
    EXPECT_EQ(error_of(cpupower.set_governor({0}, "userspace")), "no error");
    EXPECT_EQ(text("cpufreq/policy0/scaling_governor"), "userspace\n");
    EXPECT_EQ(frequency(Frequency::Speed), "1200000");
    EXPECT_EQ(frequency(Frequency::Max), "2201000");
}

TEST_F(CpupowerTest, SaysWhichGovernorCouldNotBeSet) {
    const std::string file = std::string(kRoot) + "/cpufreq/policy0/scaling_governor";
    EXPECT_EQ(error_of(cpupower.set_governor({0}, "userspace")),
              file + ": cannot be set to \"userspace\": No such file or directory");
    EXPECT_EQ(error_of(cpupower.set_governor({0}, "no such\n")),
              file + ": cannot be set to \"no such\n\": Invalid argument");
    EXPECT_FALSE(cpupower.set_governor({0}, std::string(200, 'x')));
}

TEST_F(CpupowerTest, ReadsAndSetsThePreference) {
    given_a_t61();
    EXPECT_EQ(cpupower.policies()->front().epps, std::vector<std::string>());
    EXPECT_EQ(*cpupower.epp({0}), std::nullopt);
    EXPECT_NE(error_of(cpupower.set_epp({0}, "power")), "no error");
    put_policy("energy_performance_available_preferences", "default  power \n");
    put_policy("energy_performance_preference", "128\n");
    EXPECT_EQ(cpupower.policies()->front().epps, (std::vector<std::string>{"default", "power"}));
    EXPECT_EQ(*cpupower.epp({0}), "128");
    EXPECT_EQ(error_of(cpupower.set_epp({0}, "power")), "no error");
    EXPECT_EQ(text("cpufreq/policy0/energy_performance_preference"), "power\n");
    for (const char* const odd : {"\n", "two words\n", "p\x7f\n"}) {
        put_policy("energy_performance_preference", odd);
        EXPECT_NE(cpupower.epp({0}).has_value(), true) << odd;
    }
}

TEST_F(CpupowerTest, ReadsTunablesOfAllPoliciesOrOfOne) {
    given_a_t61();
    EXPECT_TRUE(cpupower.tunables({0}, "ondemand")->empty());
    put("cpufreq/ondemand/up_threshold", "95\n");
    put("cpufreq/ondemand/sampling_rate", "10000\n");
    EXPECT_EQ(*cpupower.tunables({0}, "ondemand"), (Tunables{{"sampling_rate", "10000"}, {"up_threshold", "95"}}));
    put_policy("ondemand/up_threshold", "70\n");
    EXPECT_EQ(*cpupower.tunables({0}, "ondemand"), (Tunables{{"up_threshold", "70"}}));
}

TEST_F(CpupowerTest, LeavesOutTunablesThatCouldNotBeGivenBack) {
    put("cpufreq/ondemand/up_threshold", "95\n");
    put("cpufreq/ondemand/read_only", "1\n");
    fs::permissions(real("cpufreq/ondemand/read_only"), fs::perms::owner_read);
    put("cpufreq/ondemand/empty", "\n");
    put("cpufreq/ondemand/long", std::string(256, 'x') + "\n");
    put("cpufreq/ondemand/bytes", "\xff\xfe\n");
    put("cpufreq/ondemand/a name", "1\n");
    put("cpufreq/ondemand/folder/file", "1\n");
    EXPECT_EQ(*cpupower.tunables({0}, "ondemand"), (Tunables{{"up_threshold", "95"}}));
}

TEST_F(CpupowerTest, SetsATunable) {
    put("cpufreq/ondemand/up_threshold", "95\n");
    EXPECT_EQ(error_of(cpupower.set_tunable({0}, "ondemand", "up_threshold", "70")), "no error");
    EXPECT_EQ(cpupower.tunables({0}, "ondemand")->at("up_threshold"), "70");
}

TEST_F(CpupowerTest, StaysWithinAGovernorsTunables) {
    put("cpufreq/ondemand/up_threshold", "95\n");
    put("secret", "1\n");
    for (const char* const name : {"../../secret", "..", "", "/etc/passwd"}) {
        EXPECT_EQ(error_of(cpupower.set_tunable({0}, "ondemand", name, "2")),
                  "\"" + std::string(name) + "\" of \"ondemand\" is not a tunable of a governor");
        EXPECT_FALSE(cpupower.set_tunable({0}, name, "secret", "2"));
        EXPECT_TRUE(cpupower.tunables({0}, name)->empty());
    }
    EXPECT_FALSE(cpupower.set_tunable({0}, "ondemand", "new", "2"));
    EXPECT_FALSE(fs::exists(real("cpufreq/ondemand/new")));
    EXPECT_EQ(text("secret"), "1\n");
}

}  // namespace
}  // namespace happe
