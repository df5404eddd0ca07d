// SPDX-License-Identifier: GPL-2.0-or-later
// On plain files: a kernel would answer writes, and shorten them.
#include "governor/cpufreq/sysfs_cpufreq.h"

#include "governor/core/allocations_fixture.h"
#include "governor/system/temporary_directory_fixture.h"

#include <gtest/gtest.h>
#include <set>

namespace happe {
namespace {

namespace fs = std::filesystem;
using Frequency = Cpufreq::Frequency;

class SysfsCpufreqTest : public testing::Test {
public:
    SysfsCpufreqTest() { fs::create_directories(real("cpufreq")); }

protected:
    [[nodiscard]] fs::path real(const std::string& file) const { return directory.path() / file; }
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
    }

    [[nodiscard]] std::string frequency(Frequency which) const {
        const auto khz = cpufreq.frequency({0}, which);
        return !khz ? khz.error().message : *khz ? std::to_string((*khz)->value) : "nothing";
    }
    static std::string error_of(const Status& status) { return status ? "no error" : status.error().message; }

    TemporaryDirectory directory;
    SysfsCpufreq cpufreq{directory.path()};
};

TEST_F(SysfsCpufreqTest, ReadsWhatAPolicyIs) {
    given_a_t61();
    const auto policies = cpufreq.policies();
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

TEST_F(SysfsCpufreqTest, ReadsAPolicyWithoutTableAndFirmwareLimit) {
    given_a_t61();
    fs::remove(real("cpufreq/policy0/scaling_available_frequencies"));
    fs::remove(real("cpufreq/policy0/bios_limit"));
    const auto policies = cpufreq.policies();
    ASSERT_TRUE(policies) << policies.error().message;
    EXPECT_TRUE(policies->front().frequencies.empty());
    EXPECT_EQ(policies->front().bios_limit, std::nullopt);
}

TEST_F(SysfsCpufreqTest, AddsBoostFrequenciesAndDropsWhatIsNone) {
    given_a_t61();
    put_policy("scaling_available_frequencies", "800000 1600000 0 99999999999 \n");
    put_policy("scaling_boost_frequencies", "2600000 1600000 \n");
    EXPECT_EQ(cpufreq.policies()->front().frequencies, (std::vector<Khz>{{800'000}, {1'600'000}})) << "boost is off";
    EXPECT_EQ(cpufreq.policies()->front().highest, Khz{1'600'000}) << "the kernel shows no greater maximum";
    put_policy("cpuinfo_max_freq", "2600000\n");
    EXPECT_EQ(cpufreq.policies()->front().frequencies, (std::vector<Khz>{{800'000}, {1'600'000}, {2'600'000}}));
}

TEST_F(SysfsCpufreqTest, FindsNoPolicyWithoutCpufreq) {
    EXPECT_TRUE(cpufreq.policies()->empty());
    fs::remove(real("cpufreq"));
    ASSERT_TRUE(cpufreq.policies());
    EXPECT_TRUE(cpufreq.policies()->empty());
}

TEST_F(SysfsCpufreqTest, TakesNoPolicyThatItCannotReadForOneOffLine) {
    given_a_t61();
    fs::remove(real("cpufreq/policy0/scaling_governor"));
    fs::remove(real("cpufreq/policy0/affected_cpus"));
    fs::create_directory(real("cpufreq/policy0/affected_cpus"));
    const std::string refused = directory.path().string() + "/cpufreq/policy0/affected_cpus: Is a directory";
    const auto policies = cpufreq.policies();
    ASSERT_FALSE(policies);
    EXPECT_EQ(policies.error().message, refused);
    const auto settings = cpufreq.settings({0});
    ASSERT_FALSE(settings);
    EXPECT_EQ(settings.error().message, refused);
}

TEST_F(SysfsCpufreqTest, LeavesOutPoliciesThatAreOffLineAndFilesThatAreNoPolicy) {
    given_a_t61();
    for (const char* const name : {"policyX", "policy", "policy1024", "policy99999999999999999999", "ondemand"}) {
        fs::create_directories(real("cpufreq") / name);
    }
    EXPECT_EQ(cpufreq.policies()->size(), 1U);
    put_policy("affected_cpus", "\n");
    EXPECT_TRUE(cpufreq.policies()->empty());
}

TEST_F(SysfsCpufreqTest, RefusesAPolicyWithoutARangeOfFrequencies) {
    for (const char* const highest : {"0", "700000", "99999999999", "fast", ""}) {
        given_a_t61();
        put_policy("cpuinfo_max_freq", std::string(highest) + "\n");
        EXPECT_FALSE(cpufreq.policies()) << highest;
        fs::remove_all(real(""));
    }
}

TEST_F(SysfsCpufreqTest, ReadsWhatIsSet) {
    given_a_t61();
    const auto settings = cpufreq.settings({0});
    ASSERT_TRUE(settings && *settings);
    EXPECT_EQ(**settings, (CpufreqSettings{
                              .governor = "powersave", .min = {800'000}, .max = {2'201'000}, .speed = Khz{1'200'000}}));
    put_policy("scaling_setspeed", "<unsupported>\n");
    EXPECT_EQ((*cpufreq.settings({0}))->speed, std::nullopt);
}

TEST_F(SysfsCpufreqTest, ReadsNothingOfAPolicyThatIsOffLineOrGone) {
    EXPECT_EQ(*cpufreq.settings({0}), std::nullopt);
    EXPECT_EQ(frequency(Frequency::Current), "nothing");
}

TEST_F(SysfsCpufreqTest, SaysWhyWhatIsSetCannotBeRead) {
    given_a_t61();
    fs::remove(real("cpufreq/policy0/scaling_max_freq"));
    EXPECT_EQ(cpufreq.settings({0}).error().message,
              directory.path().string() +
                  "/cpufreq/policy0: scaling_governor, scaling_min_freq and scaling_max_freq are not settings");
    put_policy("scaling_max_freq", "2147483647\n");
    EXPECT_EQ((*cpufreq.settings({0}))->max, kHighestKhz) << "no limit, as in a copy of the files";
    EXPECT_EQ(frequency(Frequency::Max), "20000000");
    put_policy("scaling_min_freq", "99999999999\n");
    EXPECT_FALSE(cpufreq.settings({0}));
}

TEST_F(SysfsCpufreqTest, ReadsFrequencies) {
    given_a_t61();
    EXPECT_EQ(frequency(Frequency::Current), "1187654");
    EXPECT_EQ(frequency(Frequency::Speed), "1200000");
    EXPECT_EQ(frequency(Frequency::Min), "800000");
    EXPECT_EQ(frequency(Frequency::Max), "2201000");
    put_policy("scaling_setspeed", "<unsupported>\n");
    EXPECT_EQ(frequency(Frequency::Speed), "nothing");
}

TEST_F(SysfsCpufreqTest, HasAnotherOutlineWithAnotherDriverRangeOrTable) {
    given_a_t61();
    std::set<std::string> seen{**cpufreq.outline({0})};
    for (const char* const file :
         {"scaling_driver", "cpuinfo_min_freq", "cpuinfo_max_freq", "scaling_available_frequencies"}) {
        EXPECT_TRUE(seen.contains(**cpufreq.outline({0})));
        put_policy(file, "900000\n");
        EXPECT_TRUE(seen.insert(**cpufreq.outline({0})).second) << file;
    }
    fs::remove(real("cpufreq/policy0/scaling_available_frequencies"));
    EXPECT_TRUE(**cpufreq.outline({0}) != "");
    EXPECT_EQ(*cpufreq.outline({1}), std::nullopt);
}

TEST_F(SysfsCpufreqTest, RefusesWhatIsNoFrequency) {
    given_a_t61();
    for (const char* const text :
         {"0", "-1", "20000001", "1e6", " 800000", "800000 ", "0x10", "99999999999999999999", ""}) {
        put_policy("scaling_setspeed", std::string(text) + "\n");
        EXPECT_EQ(frequency(Frequency::Speed),
                  directory.path().string() + "/cpufreq/policy0/scaling_setspeed: not a frequency: \"" + text + "\"");
    }
    put_policy("scaling_setspeed", std::string(100, '1') + "\n");
    EXPECT_TRUE(frequency(Frequency::Speed).ends_with("no line within 32 bytes"));
}

TEST_F(SysfsCpufreqTest, SetsFrequencies) {
    given_a_t61();
    EXPECT_EQ(error_of(cpufreq.set_frequency({0}, Frequency::Speed, {2'200'000})), "no error");
    EXPECT_EQ(error_of(cpufreq.set_frequency({0}, Frequency::Max, {800'000})), "no error");
    EXPECT_EQ(frequency(Frequency::Speed), "2200000");
    EXPECT_EQ(frequency(Frequency::Max), "800000");
    EXPECT_EQ(text("cpufreq/policy0/scaling_governor"), "powersave\n");
}

TEST_F(SysfsCpufreqTest, SaysWhichFrequencyCouldNotBeSet) {
    EXPECT_EQ(error_of(cpufreq.set_frequency({0}, Frequency::Speed, {2'200'000})),
              directory.path().string() + "/cpufreq/policy0/scaling_setspeed: No such file or directory");
}

TEST_F(SysfsCpufreqTest, TakesNoMemoryForASample) {
    given_a_t61();
    const auto sample = [this] {
        return cpufreq.frequency({0}, Frequency::Speed).has_value() &&
               cpufreq.frequency({0}, Frequency::Current).has_value() &&
               cpufreq.set_frequency({0}, Frequency::Speed, {1'600'000}).has_value();
    };
    EXPECT_TRUE(sample());  // this opens the files
    const std::size_t before = allocations;
    EXPECT_TRUE(sample());
    EXPECT_EQ(allocations, before);
}

TEST_F(SysfsCpufreqTest, SetsAGovernorAndNothingElse) {
    given_a_t61();
    EXPECT_EQ(error_of(cpufreq.set_governor({0}, "userspace")), "no error");
    EXPECT_EQ(text("cpufreq/policy0/scaling_governor"), "userspace\n");
    EXPECT_EQ(frequency(Frequency::Speed), "1200000");
    EXPECT_EQ(frequency(Frequency::Max), "2201000");
}

TEST_F(SysfsCpufreqTest, SaysWhichGovernorCouldNotBeSet) {
    const std::string file = directory.path().string() + "/cpufreq/policy0/scaling_governor";
    EXPECT_EQ(error_of(cpufreq.set_governor({0}, "userspace")), file + ": No such file or directory");
    EXPECT_EQ(error_of(cpufreq.set_governor({0}, "no such\n")), file + ": \"no such\n\" is not a governor");
    EXPECT_FALSE(cpufreq.set_governor({0}, std::string(200, 'x')));
}

TEST_F(SysfsCpufreqTest, ReadsAndSetsThePreference) {
    given_a_t61();
    EXPECT_EQ(cpufreq.policies()->front().epps, std::vector<std::string>());
    EXPECT_EQ(*cpufreq.epp({0}), std::nullopt);
    EXPECT_NE(error_of(cpufreq.set_epp({0}, "power")), "no error");
    put_policy("energy_performance_available_preferences", "default  power \n");
    put_policy("energy_performance_preference", "128\n");
    EXPECT_EQ(cpufreq.policies()->front().epps, (std::vector<std::string>{"default", "power"}));
    EXPECT_EQ(*cpufreq.epp({0}), "128");
    EXPECT_EQ(error_of(cpufreq.set_epp({0}, "power")), "no error");
    EXPECT_EQ(text("cpufreq/policy0/energy_performance_preference"), "power\n");
    for (const char* const odd : {"\n", "two words\n", "p\x7f\n"}) {
        put_policy("energy_performance_preference", odd);
        EXPECT_NE(cpufreq.epp({0}).has_value(), true) << odd;
    }
}

TEST_F(SysfsCpufreqTest, ReadsTunablesOfAllPoliciesOrOfOne) {
    given_a_t61();
    EXPECT_TRUE(cpufreq.tunables({0}, "ondemand")->empty());
    put("cpufreq/ondemand/up_threshold", "95\n");
    put("cpufreq/ondemand/sampling_rate", "10000\n");
    EXPECT_EQ(*cpufreq.tunables({0}, "ondemand"), (Tunables{{"sampling_rate", "10000"}, {"up_threshold", "95"}}));
    put_policy("ondemand/up_threshold", "70\n");
    EXPECT_EQ(*cpufreq.tunables({0}, "ondemand"), (Tunables{{"up_threshold", "70"}}));
}

TEST_F(SysfsCpufreqTest, LeavesOutTunablesThatCouldNotBeGivenBack) {
    put("cpufreq/ondemand/up_threshold", "95\n");
    put("cpufreq/ondemand/read_only", "1\n");
    fs::permissions(real("cpufreq/ondemand/read_only"), fs::perms::owner_read);
    put("cpufreq/ondemand/empty", "\n");
    put("cpufreq/ondemand/long", std::string(256, 'x') + "\n");
    put("cpufreq/ondemand/bytes", "\xff\xfe\n");
    put("cpufreq/ondemand/a name", "1\n");
    put("cpufreq/ondemand/folder/file", "1\n");
    EXPECT_EQ(*cpufreq.tunables({0}, "ondemand"), (Tunables{{"up_threshold", "95"}}));
}

TEST_F(SysfsCpufreqTest, SetsATunable) {
    put("cpufreq/ondemand/up_threshold", "95\n");
    EXPECT_EQ(error_of(cpufreq.set_tunable({0}, "ondemand", "up_threshold", "70")), "no error");
    EXPECT_EQ(cpufreq.tunables({0}, "ondemand")->at("up_threshold"), "70");
}

TEST_F(SysfsCpufreqTest, StaysWithinAGovernorsTunables) {
    put("cpufreq/ondemand/up_threshold", "95\n");
    put("secret", "1\n");
    for (const char* const name : {"../../secret", "..", "", "/etc/passwd"}) {
        EXPECT_EQ(error_of(cpufreq.set_tunable({0}, "ondemand", name, "2")),
                  "\"" + std::string(name) + "\" of \"ondemand\" is not a tunable of a governor");
        EXPECT_FALSE(cpufreq.set_tunable({0}, name, "secret", "2"));
        EXPECT_TRUE(cpufreq.tunables({0}, name)->empty());
    }
    EXPECT_FALSE(cpufreq.set_tunable({0}, "ondemand", "new", "2"));
    EXPECT_FALSE(fs::exists(real("cpufreq/ondemand/new")));
    EXPECT_EQ(text("secret"), "1\n");
}

}  // namespace
}  // namespace happe
