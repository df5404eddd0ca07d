// SPDX-License-Identifier: GPL-2.0-or-later
//
// What a ThinkPad T61's firmware tells the kernel, for QEMU's machine "pc" with one or two processors.
//
// - Both cores have five P-states and scale together. PERF_CTL and PERF_STATUS are the 16-bit I/O port 0xE0 of
//   "-device pc-testdev", which keeps what is written: the stock acpi-cpufreq drives it, and a test can read it back.
// - A battery and a mains adapter. Their readings, and the highest P-state that the platform allows, are a mailbox in
//   pc-testdev's memory, which t61/firmware.py writes.
// - Reading the attribute "status" of the device TEST0001 notifies the drivers named in the mailbox's BELL.
DefinitionBlock ("", "SSDT", 2, "HAPPE", "T61", 1)
{
    External (\_SB.CPUS, DeviceObj)
    External (\_SB.CPUS.C000, ProcessorObj)
    External (\_SB.CPUS.C001, ProcessorObj)

    Scope (\_SB)
    {
        OperationRegion (MBOX, SystemMemory, 0xFF000000, 0x20)
        Field (MBOX, DWordAcc, NoLock, Preserve)
        {
            PPCL, 32,   // 0x00 highest P-state allowed: 0 (2.3 GHz) to 4 (0.8 GHz)
            ACON, 32,   // 0x04 1: on mains
            BSTA, 32,   // 0x08 battery: 1 discharging, 2 charging, 4 critical
            RATE, 32,   // 0x0C mW
            RCAP, 32,   // 0x10 remaining mWh
            VOLT, 32,   // 0x14 mV
            BELL, 32,   // 0x18 whom to notify: 1 the processors, 2 the mains adapter, 4 the battery
        }

        Device (BELD)
        {
            Name (_HID, "TEST0001")
            Method (_STA, 0, Serialized)
            {
                Local0 = BELL
                BELL = 0
                If (Local0 & 1)
                {
                    Notify (\_SB.CPUS.C000, 0x80)
                    If (CondRefOf (\_SB.CPUS.C001)) { Notify (\_SB.CPUS.C001, 0x80) }
                }
                If (Local0 & 2) { Notify (\_SB.ADP1, 0x80) }
                If (Local0 & 4) { Notify (\_SB.BAT0, 0x80) }
                Return (0x0F)
            }
        }

        Device (ADP1)
        {
            Name (_HID, "ACPI0003")
            Name (_PCL, Package () { \_SB })
            Method (_INI) { ACON = 1 }
            Method (_PSR) { Return (ACON) }
        }

        Device (BAT0)
        {
            Name (_HID, EisaId ("PNP0C0A"))
            Name (_PCL, Package () { \_SB })
            Name (_STA, 0x1F)
            Method (_INI) { BSTA = 2  RATE = 12000  RCAP = 28000  VOLT = 11400 }
            Method (_BIF)
            {
                Return (Package () { 0, 56160, 50000, 1, 10800, 2500, 200, 1, 1, "42T4511", "1", "LION", "SANYO" })
            }
            Name (BST, Package () { 0, 0, 0, 0 })
            Method (_BST, 0, Serialized)
            {
                BST [0] = BSTA  BST [1] = RATE  BST [2] = RCAP  BST [3] = VOLT
                Return (BST)
            }
        }
    }

    Scope (\_SB.CPUS)
    {
        Name (PCTP, Package ()
        {
            ResourceTemplate () { Register (SystemIO, 16, 0, 0xE0) },   // PERF_CTL
            ResourceTemplate () { Register (SystemIO, 16, 0, 0xE0) }    // PERF_STATUS
        })
        Name (PSSP, Package ()
        {
            //         MHz   mW     us  us  control status
            Package () { 2300, 35000, 10, 10, 0x0923, 0x0923 },
            Package () { 2200, 31000, 10, 10, 0x0922, 0x0922 },
            Package () { 1600, 22000, 10, 10, 0x0816, 0x0816 },
            Package () { 1200, 17000, 10, 10, 0x0612, 0x0612 },
            Package () {  800, 12000, 10, 10, 0x0408, 0x0408 }
        })
        Name (PSDP, Package () { Package () { 5, 0, 0, 0xFC, 2 } })     // domain 0, SW_ALL: one policy for both
    }

    Scope (\_SB.CPUS.C000)
    {
        Method (_PCT) { Return (PCTP) }
        Method (_PSS) { Return (PSSP) }
        Method (_PSD) { Return (PSDP) }
        Method (_PPC) { Return (\_SB.PPCL) }
    }

    If (CondRefOf (\_SB.CPUS.C001))     // absent with one processor
    {
        Scope (\_SB.CPUS.C001)
        {
            Method (_PCT) { Return (PCTP) }
            Method (_PSS) { Return (PSSP) }
            Method (_PSD) { Return (PSDP) }
            Method (_PPC) { Return (\_SB.PPCL) }
        }
    }
}
