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
    <message>
        <source>happe-indicator shows nothing here and only tells happed which application is in front.</source>
        <translation>happe-indicator zeigt hier nichts und sagt happed nur, welche Anwendung vorn ist.</translation>
    </message>
    <message>
        <source>In front: %1.</source>
        <translation>Vorn ist %1.</translation>
    </message>
    <message>
        <source>Nobody says which application is in front:</source>
        <translation>Niemand sagt, welche Anwendung vorn ist:</translation>
    </message>
    <message>
        <source>What is in front is said by %1.</source>
        <translation>Was vorn ist, sagt %1.</translation>
    </message>
    <message>
        <source>No window manager says which window is active (_NET_ACTIVE_WINDOW).</source>
        <translation>Keine Fensterverwaltung sagt, welches Fenster aktiv ist (_NET_ACTIVE_WINDOW).</translation>
    </message>
    <message>
        <source>Only programs that use XWayland are seen.</source>
        <translation>Nur Programme, die XWayland benutzen, werden gesehen.</translation>
    </message>
    <message>
        <source>This compositor does not say whose a window is: its process is looked for by its name.</source>
        <translation>Dieser Compositor sagt nicht, wem ein Fenster gehört: Sein Prozess wird am Namen gesucht.</translation>
    </message>
</context>
<context>
    <name>OwnerWords</name>
    <message>
        <source>%1 GHz</source>
        <translation>%1 GHz</translation>
    </message>
    <message>
        <source>%1–%2 %</source>
        <translation>%1–%2 %</translation>
    </message>
    <message>
        <source>Faster</source>
        <translation>Schneller</translation>
    </message>
    <message>
        <source>Slower</source>
        <translation>Langsamer</translation>
    </message>
    <message>
        <source>HAPPE does not run. The kernel&apos;s governor decides.</source>
        <translation>HAPPE läuft nicht. Der Regler des Kernels entscheidet.</translation>
    </message>
    <message>
        <source>A study&apos;s run goes on. What HAPPE does is not shown until it has ended.</source>
        <translation>Ein Durchgang einer Studie läuft. Was HAPPE tut, wird erst danach gezeigt.</translation>
    </message>
    <message>
        <source>HAPPE is paused. The kernel&apos;s governor decides.</source>
        <translation>HAPPE pausiert. Der Regler des Kernels entscheidet.</translation>
    </message>
    <message>
        <source>Another program governs the CPU, and HAPPE has given up.</source>
        <translation>Ein anderes Programm regelt die CPU, und HAPPE hat aufgegeben.</translation>
    </message>
    <message>
        <source>HAPPE cannot govern every CPU here.</source>
        <translation>HAPPE kann hier nicht jede CPU regeln.</translation>
    </message>
    <message>
        <source>HAPPE serves nobody here now.</source>
        <translation>HAPPE bedient hier gerade niemanden.</translation>
    </message>
    <message>
        <source>HAPPE watches %1, and would choose %2, speed %3 of %4.</source>
        <translation>HAPPE beobachtet %1 und würde %2 wählen, Geschwindigkeit %3 von %4.</translation>
    </message>
    <message>
        <source>HAPPE governs for %1: %2, speed %3 of %4.</source>
        <translation>HAPPE regelt für %1: %2, Geschwindigkeit %3 von %4.</translation>
    </message>
    <message>
        <source>this window</source>
        <translation>dieses Fenster</translation>
    </message>
    <message>
        <source>Why: %1</source>
        <translation>Grund: %1</translation>
    </message>
    <message>
        <source>The CPU is %1 % busy, %2 of what it could do.</source>
        <translation>Die CPU ist zu %1 % beschäftigt, %2 dessen, was sie könnte.</translation>
    </message>
    <message>
        <source>Your keys have taught HAPPE this speed for it.</source>
        <translation>Diese Geschwindigkeit hat HAPPE dafür von Ihren Tasten gelernt.</translation>
    </message>
    <message>
        <source>Nothing is taught yet: it stays slow until you press the key for faster.</source>
        <translation>Noch ist nichts gelernt: Es bleibt langsam, bis Sie die Taste für schneller drücken.</translation>
    </message>
    <message>
        <source>Faster: %1. Slower: %2.</source>
        <translation>Schneller: %1. Langsamer: %2.</translation>
    </message>
    <message>
        <source>No keyboard has them; others can be set in /etc/happe/happe.toml.</source>
        <translation>Keine Tastatur hat sie; andere lassen sich in /etc/happe/happe.toml einstellen.</translation>
    </message>
    <message>
        <source>%1: %2</source>
        <translation>%1: %2</translation>
    </message>
    <message numerus="yes">
        <source>Found on %n keyboard(s).</source>
        <translation>
            <numerusform>Auf %n Tastatur gefunden.</numerusform>
            <numerusform>Auf %n Tastaturen gefunden.</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>Tray</name>
    <message>
        <source>&amp;Open HAPPE</source>
        <translation>HAPPE ö&amp;ffnen</translation>
    </message>
    <message>
        <source>&amp;Pause HAPPE</source>
        <translation>HAPPE &amp;anhalten</translation>
    </message>
</context>
<context>
    <name>happe::ui::OwnerWindow</name>
    <message>
        <source>&amp;Pause HAPPE</source>
        <translation>HAPPE &amp;anhalten</translation>
    </message>
    <message>
        <source>F&amp;orget this application…</source>
        <translation>Diese Anwendung &amp;vergessen …</translation>
    </message>
    <message>
        <source>Find a &amp;key…</source>
        <translation>Eine Taste &amp;finden …</translation>
    </message>
    <message>
        <source>&amp;Start the indicator with the session</source>
        <translation>Anzeige mit der Sitzung &amp;starten</translation>
    </message>
    <message>
        <source>HAPPE</source>
        <translation>HAPPE</translation>
    </message>
    <message>
        <source>When</source>
        <translation>Wann</translation>
    </message>
    <message>
        <source>Key</source>
        <translation>Taste</translation>
    </message>
    <message>
        <source>CPU&apos;s work</source>
        <translation>Arbeit der CPU</translation>
    </message>
    <message>
        <source>From and to</source>
        <translation>Von und nach</translation>
    </message>
    <message>
        <source>The last key presses that were learned from</source>
        <translation>Die letzten Tastendrücke, aus denen gelernt wurde</translation>
    </message>
    <message>
        <source>Application</source>
        <translation>Anwendung</translation>
    </message>
    <message>
        <source>&amp;Application</source>
        <translation>Anwendun&amp;g</translation>
    </message>
    <message>
        <source>Refused: %1</source>
        <translation>Abgelehnt: %1</translation>
    </message>
    <message>
        <source>Counted: %1</source>
        <translation>Gezählt: %1</translation>
    </message>
    <message>
        <source>This key is %1. Write it into /etc/happe/happe.toml, as the key for faster or slower.</source>
        <translation>Diese Taste ist %1. Schreiben Sie sie in /etc/happe/happe.toml, als Taste für schneller oder langsamer.</translation>
    </message>
    <message>
        <source>Press a key that types no text, within half a minute.</source>
        <translation>Drücken Sie innerhalb einer halben Minute eine Taste, die keinen Text schreibt.</translation>
    </message>
    <message>
        <source>HAPPE goes on when this program ends, at the latest.</source>
        <translation>HAPPE macht spätestens weiter, wenn dieses Programm endet.</translation>
    </message>
    <message>
        <source>&amp;Go on</source>
        <translation>&amp;Weiter</translation>
    </message>
    <message>
        <source>%1 → %2</source>
        <translation>%1 → %2</translation>
    </message>
    <message>
        <source>Forget what HAPPE has learned for %1? It begins anew, at the lowest speed.</source>
        <translation>Vergessen, was HAPPE für %1 gelernt hat? Es beginnt neu, bei der niedrigsten Geschwindigkeit.</translation>
    </message>
    <message>
        <source>&amp;Forget</source>
        <translation>&amp;Vergessen</translation>
    </message>
    <message>
        <source>&amp;Keep</source>
        <translation>&amp;Behalten</translation>
    </message>
</context>
<context>
    <name>happe::ui::StepChart</name>
    <message>
        <source>What HAPPE has learned</source>
        <translation>Was HAPPE gelernt hat</translation>
    </message>
    <message>
        <source>Nothing to show</source>
        <translation>Nichts zu zeigen</translation>
    </message>
    <message>
        <source>How much the CPU does, in % of what its top speed could</source>
        <translation>Was die CPU leistet, in % dessen, was sie bei voller Geschwindigkeit könnte</translation>
    </message>
</context>
<context>
    <name>StudyWords</name>
    <message numerus="yes">
        <source>%n minute(s)</source>
        <translation>
            <numerusform>%n Minute</numerusform>
            <numerusform>%n Minuten</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n second(s)</source>
        <translation>
            <numerusform>%n Sekunde</numerusform>
            <numerusform>%n Sekunden</numerusform>
        </translation>
    </message>
    <message>
        <source>Who sits down?</source>
        <translation>Wer nimmt Platz?</translation>
    </message>
    <message>
        <source>Paste or type the participant's link. Consent, questions and instructions open in the browser; then it goes on here.</source>
        <translation>Den Link der teilnehmenden Person einfügen oder eintippen. Einwilligung, Fragen und Anleitung öffnen sich im Browser; danach geht es hier weiter.</translation>
    </message>
    <message>
        <source>The participant's link</source>
        <translation>Link der teilnehmenden Person</translation>
    </message>
    <message>
        <source>Begin</source>
        <translation>Beginnen</translation>
    </message>
    <message>
        <source>Please go on in the browser</source>
        <translation>Bitte im Browser weitermachen</translation>
    </message>
    <message>
        <source>There you read what the study is about, answer some questions, and read the instructions. When you have read them, this window goes on by itself.</source>
        <translation>Dort lesen Sie, worum es in der Studie geht, beantworten einige Fragen und lesen die Anleitung. Wenn Sie sie gelesen haben, geht es in diesem Fenster von selbst weiter.</translation>
    </message>
    <message>
        <source>Open the pages again</source>
        <translation>Die Seiten noch einmal öffnen</translation>
    </message>
    <message>
        <source>Practice: %1</source>
        <translation>Zum Üben: %1</translation>
    </message>
    <message>
        <source>Try it until you feel at home, for up to %1. It ends by itself, or when you leave it.</source>
        <translation>Probieren Sie, bis Sie sich zurechtfinden, höchstens %1 lang. Es endet von selbst oder wenn Sie es verlassen.</translation>
    </message>
    <message>
        <source>Start the practice</source>
        <translation>Üben</translation>
    </message>
    <message>
        <source>I know it already</source>
        <translation>Das kenne ich schon</translation>
    </message>
    <message>
        <source>Next: %1</source>
        <translation>Als Nächstes: %1</translation>
    </message>
    <message>
        <source>It lasts %1 and ends by itself, even in the middle of something. Then you say how it was. Rest as long as you like before you start.</source>
        <translation>Es dauert %1 und endet von selbst, auch mittendrin. Danach sagen Sie, wie es war. Ruhen Sie sich vorher aus, so lange Sie möchten.</translation>
    </message>
    <message>
        <source>Start</source>
        <translation>Start</translation>
    </message>
    <message>
        <source>One moment, please</source>
        <translation>Einen Moment, bitte</translation>
    </message>
    <message>
        <source>The laptop is asking the study's server. It tries until it is answered; what you have said so far is kept here.</source>
        <translation>Der Laptop fragt den Server der Studie und versucht es, bis er Antwort bekommt; was Sie bisher gesagt haben, ist hier aufgehoben.</translation>
    </message>
    <message numerus="yes">
        <source>It starts in %n second(s)</source>
        <translation>
            <numerusform>Es beginnt in %n Sekunde</numerusform>
            <numerusform>Es beginnt in %n Sekunden</numerusform>
        </translation>
    </message>
    <message>
        <source>This run was interrupted</source>
        <translation>Dieser Durchgang wurde unterbrochen</translation>
    </message>
    <message>
        <source>That is not your fault. What was played does not count, and the run begins once more, from its beginning.</source>
        <translation>Das liegt nicht an Ihnen. Was gespielt wurde, zählt nicht, und der Durchgang beginnt noch einmal von vorn.</translation>
    </message>
    <message>
        <source>Begin this run again</source>
        <translation>Durchgang noch einmal beginnen</translation>
    </message>
    <message>
        <source>Send my rating</source>
        <translation>Bewertung abgeben</translation>
    </message>
    <message>
        <source>With the keyboard: the number, then Enter.</source>
        <translation>Mit der Tastatur: die Zahl, dann Eingabe.</translation>
    </message>
    <message>
        <source>Nobody expects you to know. Say what you think, or that you don't know.</source>
        <translation>Niemand erwartet, dass Sie es wissen. Sagen Sie, was Sie denken oder dass Sie es nicht wissen.</translation>
    </message>
    <message>
        <source>Send my guess</source>
        <translation>Vermutung abgeben</translation>
    </message>
    <message>
        <source>This run was stopped</source>
        <translation>Dieser Durchgang wurde abgebrochen</translation>
    </message>
    <message>
        <source>It does not count, and that is not your fault. The person who is with you prepares it once more; then it goes on here.</source>
        <translation>Er zählt nicht, und das liegt nicht an Ihnen. Die Person, die bei Ihnen ist, bereitet ihn noch einmal vor; dann geht es hier weiter.</translation>
    </message>
    <message>
        <source>Thank you! That was the last run.</source>
        <translation>Vielen Dank! Das war der letzte Durchgang.</translation>
    </message>
    <message>
        <source>The laptop sends what it has kept to the study's server. Please leave it on until it says goodbye.</source>
        <translation>Der Laptop sendet, was er aufgehoben hat, an den Server der Studie. Bitte lassen Sie ihn an, bis er sich verabschiedet.</translation>
    </message>
    <message>
        <source>Thank you, and goodbye</source>
        <translation>Vielen Dank und auf Wiedersehen</translation>
    </message>
    <message>
        <source>You may go on in the browser, or leave.</source>
        <translation>Sie können im Browser weitermachen oder gehen.</translation>
    </message>
    <message>
        <source>Not everything has arrived: the study's server refused some of it, which is kept here. Please tell the person who is with you.</source>
        <translation>Nicht alles ist angekommen: Der Server der Studie hat einiges davon abgelehnt; es bleibt hier aufgehoben. Bitte sagen Sie es der Person, die bei Ihnen ist.</translation>
    </message>
    <message>
        <source>What was kept here has arrived. You may go on in the browser, or leave.</source>
        <translation>Was hier aufgehoben war, ist angekommen. Sie können im Browser weitermachen oder gehen.</translation>
    </message>
    <message>
        <source>Next participant</source>
        <translation>Nächste teilnehmende Person</translation>
    </message>
    <message>
        <source>Leave the program</source>
        <translation>Programm verlassen</translation>
    </message>
    <message>
        <source>Please call the person who is with you</source>
        <translation>Bitte rufen Sie die Person, die bei Ihnen ist</translation>
    </message>
    <message>
        <source>Something is to be put right before it goes on. Nothing that you said is lost.</source>
        <translation>Etwas muss in Ordnung gebracht werden, bevor es weitergeht. Nichts von dem, was Sie gesagt haben, ist verloren.</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>Noch einmal versuchen</translation>
    </message>
    <message>
        <source>For the experimenter</source>
        <translation>Für die Versuchsleitung</translation>
    </message>
    <message>
        <source>Run %1 can be stopped. It will not count, and is to be planned anew on the server.</source>
        <translation>Durchgang %1 kann abgebrochen werden. Er zählt dann nicht und muss auf dem Server neu geplant werden.</translation>
    </message>
    <message>
        <source>The reason; it is kept in the audit log</source>
        <translation>Der Grund; er steht dann im Prüfprotokoll</translation>
    </message>
    <message>
        <source>Stop this run</source>
        <translation>Durchgang abbrechen</translation>
    </message>
    <message>
        <source>End this practice</source>
        <translation>Üben beenden</translation>
    </message>
    <message>
        <source>No run is under way. If the participant leaves, what is kept here is sent first.</source>
        <translation>Kein Durchgang ist im Gange. Wenn die teilnehmende Person geht, wird zuerst gesendet, was hier aufgehoben ist.</translation>
    </message>
    <message>
        <source>The participant leaves</source>
        <translation>Die Person geht</translation>
    </message>
    <message>
        <source>Back</source>
        <translation>Zurück</translation>
    </message>
    <message>
        <source>Run %1 of %2</source>
        <translation>Durchgang %1 von %2</translation>
    </message>
    <message>
        <source>%1 of %2 runs behind you</source>
        <translation>%1 von %2 Durchgängen geschafft</translation>
    </message>
    <message>
        <source>The governor happed has ended.</source>
        <translation>Der Regler happed wurde beendet.</translation>
    </message>
    <message>
        <source>The application has ended by itself.</source>
        <translation>Die Anwendung hat sich von selbst beendet.</translation>
    </message>
    <message>
        <source>This laptop can&apos;t keep anything on its disk now. Its log says why.</source>
        <translation>Dieser Laptop kann gerade nichts auf seiner Platte speichern. Sein Protokoll sagt, warum.</translation>
    </message>
    <message>
        <source>The application can&apos;t be started. This laptop&apos;s log says why.</source>
        <translation>Die Anwendung lässt sich nicht starten. Das Protokoll dieses Laptops sagt, warum.</translation>
    </message>
</context>
</TS>
