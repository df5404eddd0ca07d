# SPDX-License-Identifier: GPL-2.0-or-later
"""Print a firmware's table that gives each of eight processors a frequency policy of its own, with the T61's speeds.

A processor's control and status register is an 8-bit I/O port that keeps what is written: a byte of pc-testdev's port
0xE0, or the scratch register of COM4, COM3, COM2 or COM1. The stock acpi-cpufreq drives them. A word of the mailbox
(t61/firmware.py) takes the highest speed away, as switching boost off does; a processor that comes on line reads it.
"""

PORTS = [0xE0, 0xE1, 0xE2, 0xE3, 0x2EF, 0x3EF, 0x2FF, 0x3FF]
STATES = [(2300, 35000, 0x23), (2200, 31000, 0x22), (1600, 22000, 0x16), (1200, 17000, 0x12), (800, 12000, 0x08)]
TABLE = """DefinitionBlock ("", "SSDT", 2, "HAPPE", "PERCPU", 1)
{{
    External (\\_SB.CPUS, DeviceObj)
    OperationRegion (MBOX, SystemMemory, 0xFF000000, 0x20)
    Field (MBOX, DWordAcc, NoLock, Preserve) {{ Offset (0x1C), NTRB, 32 }}
    Scope (\\_SB.CPUS)
    {{
        Name (PSSN, Package () {{ {states} }})
        Name (PSSL, Package () {{ {lower} }})
    }}
    {processors}
}}
"""
STATE = "Package () {{ {mhz}, {mw}, 10, 10, {code:#x}, {code:#x} }}"
PROCESSOR = """
    External (\\_SB.CPUS.C{cpu:03X}, ProcessorObj)
    Scope (\\_SB.CPUS.C{cpu:03X})
    {{
        Name (_PCT, Package () {{ {register}, {register} }})
        Name (_PSD, Package () {{ Package () {{ 5, 0, {cpu}, 0xFC, 1 }} }})
        Method (_PSS) {{ If (\\NTRB) {{ Return (PSSL) }} Return (PSSN) }}
        Name (_PPC, 0)
    }}"""
REGISTER = "ResourceTemplate () {{ Register (SystemIO, 8, 0, {port:#x}) }}"


def table() -> str:
    """ACPI source."""
    states = [STATE.format(mhz=mhz, mw=mw, code=code) for mhz, mw, code in STATES]
    processors = "".join(
        PROCESSOR.format(cpu=cpu, register=REGISTER.format(port=port)) for cpu, port in enumerate(PORTS)
    )
    return TABLE.format(states=", ".join(states), lower=", ".join(states[1:]), processors=processors)


if __name__ == "__main__":
    print(table())
