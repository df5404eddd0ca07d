// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/system/power_supplies.h"

#include "governor/system/event_loop_fixture.h"

#include <linux/netlink.h>
#include <sys/socket.h>
#include <map>
#include <string>

namespace happe {
namespace {

using Files = std::map<std::string, std::string>;  // SUPPLY/FILE to its text

class PowerSuppliesTest : public LoopFixture {
protected:
    void given(const Files& files) const {
        std::filesystem::remove_all(folder / "supplies");
        for (const auto& [file, line] : files) {
            put_text(folder / "supplies" / file, line + "\n");
        }
    }
    [[nodiscard]] std::string source_of(const Files& files) const {
        given(files);
        const PowerSupplies supplies(folder / "supplies", [] {});
        return supplies.source() ? name_of(*supplies.source()) : "unknown";
    }
};

TEST_F(PowerSuppliesTest, SayWhatTheLaptopRunsOn) {
    const Files battery{{"BAT0/type", "Battery"}, {"BAT0/present", "1"}, {"BAT0/status", "Discharging"}};
    const auto with = [](Files files, const Files& more) {
        files.insert(more.begin(), more.end());
        return files;
    };
    EXPECT_EQ(source_of(battery), "battery");
    EXPECT_EQ(source_of({{"BAT0/type", "Battery"}, {"BAT0/status", "Full"}}), "mains");
    EXPECT_EQ(source_of(with(battery, {{"AC/type", "Mains"}, {"AC/online", "0"}})), "battery");
    EXPECT_EQ(source_of(with(battery, {{"AC/type", "Mains"}, {"AC/online", "1"}})), "mains") << "too weak a charger";
    EXPECT_EQ(source_of(with(battery, {{"ucsi/type", "USB"}, {"ucsi/online", "2"}})), "mains");
    EXPECT_EQ(source_of({{"BAT0/type", "Battery"}, {"BAT0/status", "Unknown"}, {"AC/online", "0"}}), "battery");
}

TEST_F(PowerSuppliesTest, WithoutABatteryOfItsOwnAMachineHasNoSource) {
    EXPECT_EQ(source_of({}), "unknown");
    EXPECT_EQ(source_of({{"AC/type", "Mains"}, {"AC/online", "1"}}), "unknown");
    EXPECT_EQ(source_of({{"mouse/type", "Battery"}, {"mouse/scope", "Device"}, {"mouse/status", "Discharging"}}),
              "unknown");
    EXPECT_EQ(source_of({{"BAT0/type", "Battery"}, {"BAT0/present", "0"}}), "unknown");
}

TEST_F(PowerSuppliesTest, WhatMakesNoSenseCountsForNothing) {
    const std::string odd(100'000, '1');
    EXPECT_EQ(source_of({{"BAT0/type", "Battery"}, {"BAT0/status", odd}, {"AC/online", odd}, {"x/online", "-1"}}),
              "mains");
    EXPECT_EQ(source_of({{"BAT0/type", odd}, {"BAT0/status", ""}}), "unknown");
}

// Sends a message as the kernel does. Only root may do this.
void tell(const std::string& subsystem) {
    const FileDescriptor socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT));
    sockaddr_nl group{};
    group.nl_family = AF_NETLINK;
    group.nl_groups = 1;
    const std::string end(1, '\0');
    const std::string text = "change@/devices/AC" + end + "SUBSYSTEM=" + subsystem + end;
    const auto* const to = reinterpret_cast<const sockaddr*>(&group);
    EXPECT_GE(::sendto(socket.get(), text.data(), text.size(), 0, to, sizeof group), 0);
}

TEST_F(PowerSuppliesTest, TellWhenTheKernelTellsOfAnotherSource) {
    given({{"BAT0/type", "Battery"}, {"BAT0/status", "Discharging"}});
    int changes = 0;
    PowerSupplies supplies(folder / "supplies", [&] { ++changes; });
    ASSERT_TRUE(supplies.watch(loop.get()));
    tell("power_supply");
    runs();
    EXPECT_EQ(changes, 0) << "the same";
    given({{"BAT0/type", "Battery"}, {"BAT0/status", "Charging"}});
    tell("input");
    runs();
    EXPECT_EQ(supplies.source(), PowerSource::Battery) << "not looked at";
    tell("power_supply");
    EXPECT_TRUE(runs_until([&] { return changes == 1; }));
    EXPECT_EQ(supplies.source(), PowerSource::Mains);
}

}  // namespace
}  // namespace happe
