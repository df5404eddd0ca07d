<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="en_GB" sourcelanguage="en_GB">
<context>
    <name>OverlayWords</name>
    <message>
        <source>On battery</source>
        <translation>On battery</translation>
    </message>
    <message>
        <source>On mains</source>
        <translation>On mains</translation>
    </message>
    <message>
        <source>%1 h %2 min</source>
        <translation>%1 h %2 min</translation>
    </message>
    <message>
        <source>%1 min</source>
        <translation>%1 min</translation>
    </message>
    <message>
        <source>%1 GHz</source>
        <translation>%1 GHz</translation>
    </message>
    <message>
        <source>lowest</source>
        <translation>lowest</translation>
    </message>
    <message>
        <source>highest</source>
        <translation>highest</translation>
    </message>
    <message>
        <source>slower</source>
        <translation>slower</translation>
    </message>
    <message>
        <source>faster</source>
        <translation>faster</translation>
    </message>
    <message numerus="yes">
        <source>%n minute(s)</source>
        <translation>
            <numerusform>%n minute</numerusform>
            <numerusform>%n minutes</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n hour(s)</source>
        <translation>
            <numerusform>%n hour</numerusform>
            <numerusform>%n hours</numerusform>
        </translation>
    </message>
    <message>
        <source>%1 of battery left</source>
        <translation>%1 of battery left</translation>
    </message>
    <message>
        <source>Last key: this is the lowest speed.</source>
        <translation>Last key: this is the lowest speed.</translation>
    </message>
    <message>
        <source>Last key: this is the highest speed.</source>
        <translation>Last key: this is the highest speed.</translation>
    </message>
    <message>
        <source>Last key: slower.</source>
        <translation>Last key: slower.</translation>
    </message>
    <message>
        <source>Last key: faster.</source>
        <translation>Last key: faster.</translation>
    </message>
    <message>
        <source>Last key: %1 less.</source>
        <translation>Last key: %1 less.</translation>
    </message>
    <message>
        <source>Last key: %1 more.</source>
        <translation>Last key: %1 more.</translation>
    </message>
    <message>
        <source>Speed %1 of %2, %3 GHz.</source>
        <translation>Speed %1 of %2, %3 GHz.</translation>
    </message>
</context>
<context>
    <name>Status</name>
    <message>
        <source>happed serves nobody here now.</source>
        <translation>happed serves nobody here now.</translation>
    </message>
    <message>
        <source>happed is not running.</source>
        <translation>happed is not running.</translation>
    </message>
</context>
</TS>
