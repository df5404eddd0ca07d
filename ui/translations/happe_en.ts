<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="en_GB" sourcelanguage="en_GB">
<context>
    <name>OverlayWords</name>
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
</context>
<context>
    <name>OwnerWords</name>
    <message numerus="yes">
        <source>Found on %n keyboard(s).</source>
        <translation>
            <numerusform>Found on %n keyboard.</numerusform>
            <numerusform>Found on %n keyboards.</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>StudyWords</name>
    <message numerus="yes">
        <source>%n minute(s)</source>
        <translation>
            <numerusform>%n minute</numerusform>
            <numerusform>%n minutes</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n second(s)</source>
        <translation>
            <numerusform>%n second</numerusform>
            <numerusform>%n seconds</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>It starts in %n second(s)</source>
        <translation>
            <numerusform>It starts in %n second</numerusform>
            <numerusform>It starts in %n seconds</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>happe::ui::OwnerWindow</name>
    <message numerus="yes">
        <source>%n press(es) undone.</source>
        <translation>
            <numerusform>%n press undone.</numerusform>
            <numerusform>%n presses undone.</numerusform>
        </translation>
    </message>
</context>
</TS>
