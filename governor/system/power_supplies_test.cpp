// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/system/power_supplies.h"

#include "governor/system/event_loop_fixture.h"

#include <linux/netlink.h>
#include <sys/socket.h>
#include <map>
#include <string>
#include <vector>

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

// A supply as "TYPE STATE": a battery's status, or whether another supply is on line.
TEST_F(PowerSuppliesTest, SayWhatTheLaptopRunsOn) {
    const auto source = [&](const std::vector<std::string>& supplies) {
        Files files;
        for (std::size_t i = 0; i < supplies.size(); ++i) {
            const std::string& supply = supplies[i];
            const std::string type = supply.substr(0, supply.find(' '));
            const std::string name = std::to_string(i) + "/";
            files[name + "type"] = type;
            files[name + (type == "Battery" ? "status" : "online")] = supply.substr(type.size() + 1);
        }
        return source_of(files);
    };
    for (const char* other : {"Charging", "Full", "Not charging", "Unknown", ""}) {
        SCOPED_TRACE(other);
        const std::string battery = std::string("Battery ") + other;
        for (const char* supply : {"Mains 0", "Mains 1", "USB 0", "USB 1", "UPS 1"}) {
            EXPECT_EQ(source({battery, supply}), "mains") << supply;
        }
        EXPECT_EQ(source({battery}), "mains");
        EXPECT_EQ(source({battery, "Battery Discharging"}), "battery");
    }
    for (const char* supply : {"Mains 0", "Mains ", "USB 0", "USB 1", "USB 2", "Wireless 1", "UPS 1"}) {
        EXPECT_EQ(source({"Battery Discharging", supply}), "battery") << supply;
    }
    EXPECT_EQ(source({"Battery Discharging"}), "battery");
    EXPECT_EQ(source({"Mains 0", "Mains 1", "USB 1", "Battery Discharging"}), "mains") << "too weak a charger";
}

TEST_F(PowerSuppliesTest, WithoutABatteryOfItsOwnAMachineHasNoSource) {
    EXPECT_EQ(source_of({}), "unknown");
    EXPECT_EQ(source_of({{"AC/type", "Mains"}, {"AC/online", "1"}}), "unknown");
    EXPECT_EQ(source_of({{"mouse/type", "Battery"}, {"mouse/scope", "Device"}, {"mouse/status", "Discharging"}}),
              "unknown");
    EXPECT_EQ(source_of({{"BAT0/type", "Battery"}, {"BAT0/present", "0"}}), "unknown");
    EXPECT_EQ(source_of({{"UPS/type", "UPS"}, {"UPS/status", "Discharging"}}), "unknown");
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
    ASSERT_TRUE(supplies.watch(loop));
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

TEST_F(PowerSuppliesTest, SeeABatteryThatDischargesOnlyAfterTheKernelsMessage) {
    given({{"BAT0/type", "Battery"}, {"BAT0/status", "Full"}});
    int changes = 0;
    PowerSupplies supplies(folder / "supplies", [&] { ++changes; });
    ASSERT_TRUE(supplies.watch(loop));
    supplies.look_again();
    given({{"BAT0/type", "Battery"}, {"BAT0/status", "Discharging"}});
    EXPECT_TRUE(runs_until([&] { return changes == 1; }));
    EXPECT_EQ(supplies.source(), PowerSource::Battery);
}

}  // namespace
}  // namespace happe
