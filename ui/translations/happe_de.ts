<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="de_DE" sourcelanguage="en_GB">
<context>
    <name>OverlayWords</name>
    <message>
        <source>On battery</source>
        <translation>Akkubetrieb</translation>
    </message>
    <message>
        <source>On mains</source>
        <translation>Netzbetrieb</translation>
    </message>
    <message>
        <source>%1 h %2 min</source>
        <translation>%1 Std. %2 Min.</translation>
    </message>
    <message>
        <source>%1 min</source>
        <translation>%1 Min.</translation>
    </message>
    <message>
        <source>%1 GHz</source>
        <translation>%1 GHz</translation>
    </message>
    <message>
        <source>lowest</source>
        <translation>niedrigste</translation>
    </message>
    <message>
        <source>highest</source>
        <translation>höchste</translation>
    </message>
    <message>
        <source>slower</source>
        <translation>langsamer</translation>
    </message>
    <message>
        <source>faster</source>
        <translation>schneller</translation>
    </message>
    <message numerus="yes">
        <source>%n minute(s)</source>
        <translation>
            <numerusform>%n Minute</numerusform>
            <numerusform>%n Minuten</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n hour(s)</source>
        <translation>
            <numerusform>%n Stunde</numerusform>
            <numerusform>%n Stunden</numerusform>
        </translation>
    </message>
    <message>
        <source>%1 of battery left</source>
        <translation>Noch %1 Akkulaufzeit</translation>
    </message>
    <message>
        <source>Last key: this is the lowest speed.</source>
        <translation>Letzte Taste: das ist die niedrigste Geschwindigkeit.</translation>
    </message>
    <message>
        <source>Last key: this is the highest speed.</source>
        <translation>Letzte Taste: das ist die höchste Geschwindigkeit.</translation>
    </message>
    <message>
        <source>Last key: slower.</source>
        <translation>Letzte Taste: langsamer.</translation>
    </message>
    <message>
        <source>Last key: faster.</source>
        <translation>Letzte Taste: schneller.</translation>
    </message>
    <message>
        <source>Last key: %1 less.</source>
        <translation>Letzte Taste: %1 weniger.</translation>
    </message>
    <message>
        <source>Last key: %1 more.</source>
        <translation>Letzte Taste: %1 mehr.</translation>
    </message>
    <message>
        <source>Speed %1 of %2, %3 GHz.</source>
        <translation>Geschwindigkeit %1 von %2, %3 GHz.</translation>
    </message>
</context>
<context>
    <name>Status</name>
    <message>
        <source>happed serves nobody here now.</source>
        <translation>happed bedient hier gerade niemanden.</translation>
    </message>
    <message>
        <source>happed is not running.</source>
        <translation>happed läuft nicht.</translation>
    </message>
</context>
</TS>
