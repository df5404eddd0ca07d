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
        <source>step %1 of %2</source>
        <translation>Stufe %1 von %2</translation>
    </message>
    <message>
        <source>%1 GHz</source>
        <translation>%1 GHz</translation>
    </message>
    <message>
        <source>%1 W</source>
        <translation>%1 W</translation>
    </message>
    <message>
        <source>%1 W measured</source>
        <translation>%1 W gemessen</translation>
    </message>
    <message>
        <source>%1 W modelled</source>
        <translation>%1 W nach Modell</translation>
    </message>
    <message>
        <source>lowest</source>
        <translation>Minimum</translation>
    </message>
    <message>
        <source>highest</source>
        <translation>Maximum</translation>
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
        <translation>Letzter Tastendruck: Die niedrigste Stufe ist erreicht.</translation>
    </message>
    <message>
        <source>Last key: this is the highest speed.</source>
        <translation>Letzter Tastendruck: Die höchste Stufe ist erreicht.</translation>
    </message>
    <message>
        <source>Last key: slower.</source>
        <translation>Letzter Tastendruck: langsamer.</translation>
    </message>
    <message>
        <source>Last key: faster.</source>
        <translation>Letzter Tastendruck: schneller.</translation>
    </message>
    <message>
        <source>Last key: %1 less.</source>
        <translation>Letzter Tastendruck: %1 weniger.</translation>
    </message>
    <message>
        <source>Last key: %1 more.</source>
        <translation>Letzter Tastendruck: %1 mehr.</translation>
    </message>
    <message>
        <source>Measured power: %1 W; in the last %2 minutes from %3 to %4 W.</source>
        <translation>Gemessene Leistung: %1 W; in den letzten %2 Minuten %3 bis %4 W.</translation>
    </message>
    <message>
        <source>Modelled power: %1 W; in the last %2 minutes from %3 to %4 W.</source>
        <translation>Leistung nach Modell: %1 W; in den letzten %2 Minuten %3 bis %4 W.</translation>
    </message>
    <message>
        <source>Step %1 of %2, %3 GHz.</source>
        <translation>Stufe %1 von %2, %3 GHz.</translation>
    </message>
    <message>
        <source>Step %1 of %2.</source>
        <translation>Stufe %1 von %2.</translation>
    </message>
    <message>
        <source>Battery at %1 %.</source>
        <translation>Akku bei %1 %.</translation>
    </message>
</context>
<context>
    <name>Status</name>
    <message>
        <source>happed governs for nobody here now.</source>
        <translation>happed ist hier gerade für niemanden aktiv.</translation>
    </message>
    <message>
        <source>happed is not running.</source>
        <translation>happed läuft nicht.</translation>
    </message>
    <message>
        <source>happe-indicator shows nothing here. It only reports to happed which application is in front.</source>
        <translation>happe-indicator zeigt hier nichts an. Es meldet happed nur, welche Anwendung im Vordergrund ist.</translation>
    </message>
    <message>
        <source>In front: %1.</source>
        <translation>Im Vordergrund: %1.</translation>
    </message>
    <message>
        <source>No program reports which application is in front:</source>
        <translation>Kein Programm meldet, welche Anwendung im Vordergrund ist:</translation>
    </message>
    <message>
        <source>%1 reports which application is in front.</source>
        <translation>%1 meldet, welche Anwendung im Vordergrund ist.</translation>
    </message>
    <message>
        <source>No window manager reports the active window (_NET_ACTIVE_WINDOW).</source>
        <translation>Kein Fenstermanager meldet das aktive Fenster (_NET_ACTIVE_WINDOW).</translation>
    </message>
    <message>
        <source>happe-indicator sees only programs that use XWayland.</source>
        <translation>happe-indicator sieht nur Programme, die XWayland verwenden.</translation>
    </message>
    <message>
        <source>This compositor does not name the owner of a window. happe-indicator looks for the process by its name.</source>
        <translation>Dieser Compositor nennt den Besitzer eines Fensters nicht. happe-indicator sucht den Prozess anhand seines Namens.</translation>
    </message>
</context>
<context>
    <name>OwnerWords</name>
    <message>
        <source>%1 · %2 %</source>
        <translation>%1 · %2 %</translation>
    </message>
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
        <source>Save power</source>
        <translation>Strom sparen</translation>
    </message>
    <message>
        <source>HAPPE is not running. The kernel&apos;s governor decides.</source>
        <translation>HAPPE läuft nicht. Der Kernel bestimmt die Geschwindigkeit.</translation>
    </message>
    <message>
        <source>A run of a study is in progress. This window shows HAPPE&apos;s state again after the run.</source>
        <translation>Ein Durchgang einer Studie läuft. Danach zeigt dieses Fenster wieder, was HAPPE tut.</translation>
    </message>
    <message>
        <source>HAPPE is paused. The kernel&apos;s governor decides.</source>
        <translation>HAPPE ist angehalten. Der Kernel bestimmt die Geschwindigkeit.</translation>
    </message>
    <message>
        <source>Another program governs the CPU, so HAPPE has stopped governing.</source>
        <translation>Ein anderes Programm regelt die CPU. Deshalb greift HAPPE nicht mehr ein.</translation>
    </message>
    <message>
        <source>HAPPE cannot govern every CPU here.</source>
        <translation>HAPPE kann hier nicht jede CPU regeln.</translation>
    </message>
    <message>
        <source>HAPPE governs for nobody here now.</source>
        <translation>HAPPE ist hier gerade für niemanden aktiv.</translation>
    </message>
    <message>
        <source>HAPPE watches %1, and would choose %2, step %3 of %4.</source>
        <translation>HAPPE beobachtet %1 und würde %2 wählen, Stufe %3 von %4.</translation>
    </message>
    <message>
        <source>HAPPE governs for %1: %2, step %3 of %4.</source>
        <translation>HAPPE regelt für %1: %2, Stufe %3 von %4.</translation>
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
        <source>The CPU is %1 % busy, %2 of its capacity at top speed.</source>
        <translation>Die CPU ist zu %1 % ausgelastet. Das sind %2 ihrer Höchstleistung.</translation>
    </message>
    <message>
        <source>a load of %1</source>
        <translation>einer Last von %1</translation>
    </message>
    <message>
        <source>Faster: %1
Save power: %2</source>
        <translation>Schneller: %1
Strom sparen: %2</translation>
    </message>
    <message>
        <source>No keyboard has these keys.</source>
        <translation>Keine Tastatur hat diese Tasten.</translation>
    </message>
    <message>
        <source>%1: %2</source>
        <translation>%1: %2</translation>
    </message>
    <message>
        <source>All speeds: %1</source>
        <translation>Alle Stufen: %1</translation>
    </message>
    <message numerus="yes">
        <source>Found on %n keyboard(s).</source>
        <translation>
            <numerusform>Auf %n Tastatur gefunden.</numerusform>
            <numerusform>Auf %n Tastaturen gefunden.</numerusform>
        </translation>
    </message>
    <message>
        <source>Today since %1 HAPPE has saved %2 Wh, or %3 min of battery, compared with the kernel's governor (modelled).</source>
        <translation>Heute seit %1 hat HAPPE %2 Wh oder %3 min Akkulaufzeit gespart, verglichen mit der Steuerung durch den Kernel (nach Modell).</translation>
    </message>
    <message>
        <source>Today since %1 HAPPE has used %2 Wh, or %3 min of battery, more than the kernel's governor would have (modelled).</source>
        <translation>Heute seit %1 hat HAPPE %2 Wh oder %3 min Akkulaufzeit mehr verbraucht als bei Steuerung durch den Kernel (nach Modell).</translation>
    </message>
</context>
<context>
    <name>Reasons</name>
    <message>
        <source>HAPPE tries less than the {frequency} that it had learned</source>
        <translation>HAPPE versucht es mit weniger als den gelernten {frequency}</translation>
    </message>
    <message>
        <source>the history has no key press that taught it: the profile began so, or was imported</source>
        <translation>der Verlauf enthält keinen Tastendruck, der es gelehrt hat: das Profil begann so oder wurde importiert</translation>
    </message>
    <message>
        <source>HAPPE tried it on {time}, and you did not press &quot;faster&quot;</source>
        <translation>HAPPE hat es am {time} versucht, und Sie haben nicht „Schneller“ gedrückt</translation>
    </message>
    <message>
        <source>you pressed &quot;faster&quot; on {time}</source>
        <translation>Sie haben am {time} „Schneller“ gedrückt</translation>
    </message>
    <message>
        <source>you pressed &quot;save power&quot; on {time}</source>
        <translation>Sie haben am {time} „Strom sparen“ gedrückt</translation>
    </message>
    <message>
        <source>HAPPE gives {application} {frequency} at {level}, because {cause}</source>
        <translation>HAPPE wählt für {application} {frequency} bei {level}, denn {cause}</translation>
    </message>
    <message>
        <source>; this is one step less than learned, as {saver} asks</source>
        <translation>; das ist eine Stufe weniger als gelernt, weil {saver} darum bittet</translation>
    </message>
    <message>
        <source>; another program or the kernel allows only {least} to {most}</source>
        <translation>; ein anderes Programm oder der Kernel lässt nur {least} bis {most} zu</translation>
    </message>
    <message>
        <source>If you press &quot;faster&quot;, HAPPE goes back to at least {restored}; otherwise it keeps {frequency} in {seconds} s.</source>
        <translation>Drücken Sie „Schneller“, geht HAPPE auf mindestens {restored} zurück. Sonst behält es {frequency} nach {seconds} s bei.</translation>
    </message>
    <message>
        <source>HAPPE tries nothing by itself: only key presses change what it has learned.</source>
        <translation>HAPPE versucht nichts von sich aus: Nur Tastendrücke ändern, was es gelernt hat.</translation>
    </message>
    <message>
        <source>HAPPE tries nothing lower while {saver} asks for less power.</source>
        <translation>Solange {saver} um weniger Strom bittet, versucht HAPPE keine niedrigere Frequenz.</translation>
    </message>
    <message>
        <source>HAPPE tries nothing lower, because the desktop does not tell it that somebody is there.</source>
        <translation>HAPPE versucht keine niedrigere Frequenz, denn die Arbeitsumgebung meldet nicht, dass jemand da ist.</translation>
    </message>
    <message>
        <source>HAPPE tries nothing lower under a limit that is lower already.</source>
        <translation>Unter einer Grenze, die schon niedriger ist, versucht HAPPE nichts.</translation>
    </message>
    <message>
        <source>HAPPE tries nothing lower, because this is the lowest frequency.</source>
        <translation>HAPPE versucht keine niedrigere Frequenz, denn dies ist die niedrigste.</translation>
    </message>
    <message>
        <source>HAPPE tries a lower frequency after {seconds} s more of use without a key press.</source>
        <translation>HAPPE versucht eine niedrigere Frequenz nach weiteren {seconds} s Nutzung ohne Tastendruck.</translation>
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
    <message>
        <source>&amp;Undo the last press</source>
        <translation>Letzten Tastendruck &amp;zurücknehmen</translation>
    </message>
</context>
<context>
    <name>happe::ui::ConfigurationChange</name>
    <message>
        <source>In a terminal:</source>
        <translation>Im Terminal:</translation>
    </message>
    <message>
        <source>This needs an administrator&apos;s password, which nobody gave.</source>
        <translation>Dafür ist ein Administratorkennwort nötig, das niemand eingegeben hat.</translation>
    </message>
    <message>
        <source>The program pkexec, which asks for a password, is not there.</source>
        <translation>Das Programm pkexec fehlt, das nach dem Kennwort fragt.</translation>
    </message>
    <message>
        <source>HAPPE says: %1</source>
        <translation>HAPPE meldet: %1</translation>
    </message>
</context>
<context>
    <name>happe::ui::KeySearch</name>
    <message>
        <source>Nobody pressed a key that types no text within half a minute.</source>
        <translation>In 30 Sekunden wurde keine Taste gedrückt, die keinen Text schreibt.</translation>
    </message>
    <message>
        <source>Refused: %1</source>
        <translation>Abgelehnt: %1</translation>
    </message>
</context>
<context>
    <name>happe::ui::MainsSettings</name>
    <message>
        <source>Govern on &amp;mains, too</source>
        <translation>Auch im Netz&amp;betrieb regeln</translation>
    </message>
    <message>
        <source>&amp;Learn separate profiles on mains</source>
        <translation>Im Netzbetrieb &amp;eigene Profile lernen</translation>
    </message>
    <message>
        <source>An administrator&apos;s password may be needed.</source>
        <translation>Eventuell wird nach dem Kennwort eines Administrators gefragt.</translation>
    </message>
</context>
<context>
    <name>happe::ui::KeyDialog</name>
    <message>
        <source>&amp;Apply</source>
        <translation>Ü&amp;bernehmen</translation>
    </message>
    <message>
        <source>&amp;Close</source>
        <translation>S&amp;chließen</translation>
    </message>
    <message>
        <source>HAPPE&apos;s keys</source>
        <translation>Tasten von HAPPE</translation>
    </message>
    <message>
        <source>%v s</source>
        <translation>%v s</translation>
    </message>
    <message>
        <source>Seconds left</source>
        <translation>Verbleibende Sekunden</translation>
    </message>
    <message>
        <source>Choose keys that type no text and that you use for nothing else.</source>
        <translation>Wählen Sie Tasten, die keinen Text schreiben und die Sie für nichts anderes benutzen.</translation>
    </message>
    <message>
        <source>The keys are set.</source>
        <translation>Die Tasten sind eingestellt.</translation>
    </message>
    <message>
        <source>Press the key for: %1.</source>
        <translation>Drücken Sie die Taste für: %1.</translation>
    </message>
    <message>
        <source>%1 is the other key. The two keys must differ.</source>
        <translation>„%1“ ist schon die andere Taste. Es müssen zwei verschiedene sein.</translation>
    </message>
    <message>
        <source>Chosen: %1. &quot;Apply&quot; sets it.</source>
        <translation>Gewählt: %1. „Übernehmen“ stellt die Taste ein.</translation>
    </message>
    <message>
        <source>An administrator&apos;s password may be needed.</source>
        <translation>Eventuell wird nach dem Kennwort eines Administrators gefragt.</translation>
    </message>
    <message>
        <source>&amp;Press another key</source>
        <translation>&amp;Andere Taste drücken</translation>
    </message>
    <message>
        <source>Press an&amp;other key</source>
        <translation>A&amp;ndere Taste drücken</translation>
    </message>
    <message>
        <source>&amp;Stop</source>
        <translation>Abb&amp;rechen</translation>
    </message>
</context>
<context>
    <name>Shortcuts</name>
    <message>
        <source>Faster</source>
        <translation>Schneller</translation>
    </message>
    <message>
        <source>Save power</source>
        <translation>Strom sparen</translation>
    </message>
</context>
<context>
    <name>happe::ui::OwnerWindow</name>
    <message>
        <source>Battery</source>
        <translation>Akku</translation>
    </message>
    <message>
        <source>Now</source>
        <translation>Jetzt</translation>
    </message>
    <message>
        <source>Settings</source>
        <translation>Einstellungen</translation>
    </message>
    <message>
        <source>What HAPPE has learned</source>
        <translation>Was HAPPE gelernt hat</translation>
    </message>
    <message>
        <source>The last key presses</source>
        <translation>Die letzten Tastendrücke</translation>
    </message>
    <message>
        <source>&amp;Pause HAPPE</source>
        <translation>HAPPE &amp;anhalten</translation>
    </message>
    <message>
        <source>F&amp;orget this application…</source>
        <translation>Diese Anwendung &amp;vergessen …</translation>
    </message>
    <message>
        <source>Change &amp;keys…</source>
        <translation>&amp;Tasten ändern …</translation>
    </message>
    <message>
        <source>&amp;Start the indicator with the session</source>
        <translation>Anzeige beim Anmelden &amp;starten</translation>
    </message>
    <message>
        <source>Enable HAPPE in &amp;GNOME</source>
        <translation>HAPPE in &amp;GNOME aktivieren</translation>
    </message>
    <message>
        <source>HAPPE</source>
        <translation>HAPPE</translation>
    </message>
    <message>
        <source>Application</source>
        <translation>Anwendung</translation>
    </message>
    <message>
        <source>&amp;Application</source>
        <translation>A&amp;nwendung</translation>
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
        <source>HAPPE continues when this program ends, at the latest.</source>
        <translation>HAPPE macht weiter, wenn Sie es fortsetzen oder dieses Programm beenden.</translation>
    </message>
    <message>
        <source>&amp;Continue</source>
        <translation>HAPPE &amp;fortsetzen</translation>
    </message>
    <message>
        <source>Forget what HAPPE has learned for %1? It starts again at the lowest speed.</source>
        <translation>Soll HAPPE vergessen, was es für %1 gelernt hat? Es beginnt dann wieder bei der niedrigsten Geschwindigkeit.</translation>
    </message>
    <message>
        <source>&amp;Forget</source>
        <translation>&amp;Vergessen</translation>
    </message>
    <message>
        <source>&amp;Keep</source>
        <translation>&amp;Behalten</translation>
    </message>
    <message numerus="yes">
        <source>%n press(es) undone.</source>
        <translation>
            <numerusform>%n Tastendruck zurückgenommen.</numerusform>
            <numerusform>%n Tastendrücke zurückgenommen.</numerusform>
        </translation>
    </message>
    <message>
        <source>HAPPE cannot undo the older ones.</source>
        <translation>Die älteren kann HAPPE nicht zurücknehmen.</translation>
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
        <translation>Nichts anzuzeigen</translation>
    </message>
    <message>
        <source>now</source>
        <translation>jetzt</translation>
    </message>
    <message>
        <source>The CPU's load, in % of its capacity at top speed</source>
        <translation>CPU-Last in % der Höchstleistung</translation>
    </message>
    <message>
        <source>The last presses, the newest the strongest:</source>
        <translation>Die letzten Tastendrücke, der neueste am kräftigsten:</translation>
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
        <source>Who is taking part?</source>
        <translation>Wer nimmt teil?</translation>
    </message>
    <message>
        <source>Paste or type the participant's link. Consent, questions and instructions open in the browser. Then the participant continues here.</source>
        <translation>Fügen Sie den Teilnahme-Link ein oder tippen Sie ihn ab. Einwilligung, Fragen und Anleitung öffnen sich im Browser. Danach geht es hier weiter.</translation>
    </message>
    <message>
        <source>The participant's link</source>
        <translation>Teilnahme-Link</translation>
    </message>
    <message>
        <source>Begin</source>
        <translation>Beginnen</translation>
    </message>
    <message>
        <source>Please continue in the browser</source>
        <translation>Bitte machen Sie im Browser weiter</translation>
    </message>
    <message>
        <source>There you read about the study, answer some questions, and read the instructions. After that, this window continues by itself.</source>
        <translation>Dort erfahren Sie, worum es in der Studie geht, beantworten einige Fragen und lesen die Anleitung. Danach geht es in diesem Fenster von selbst weiter.</translation>
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
        <source>Try it until you feel comfortable, for up to %1. It ends by itself, or when you leave it.</source>
        <translation>Üben Sie, bis Sie sich sicher fühlen, höchstens %1 lang. Die Übung endet dann von selbst. Sie können sie auch vorher beenden.</translation>
    </message>
    <message>
        <source>Start the practice</source>
        <translation>Übung starten</translation>
    </message>
    <message>
        <source>I already know it</source>
        <translation>Das kenne ich schon</translation>
    </message>
    <message>
        <source>Next: %1</source>
        <translation>Als Nächstes: %1</translation>
    </message>
    <message>
        <source>It lasts %1 and ends by itself, even in the middle of something. Then you rate it. Rest as long as you like before you start.</source>
        <translation>Der Durchgang dauert %1 und endet von selbst, auch mittendrin. Danach bewerten Sie ihn. Ruhen Sie sich vorher aus, so lange Sie möchten.</translation>
    </message>
    <message>
        <source>Start</source>
        <translation>Starten</translation>
    </message>
    <message>
        <source>One moment, please</source>
        <translation>Einen Moment, bitte</translation>
    </message>
    <message>
        <source>The laptop is asking the study's server. It tries until the server answers. Your answers so far are saved here.</source>
        <translation>Der Laptop wartet auf eine Antwort des Servers. Ihre bisherigen Antworten sind hier gespeichert.</translation>
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
        <source>This is not your fault. The interrupted part does not count, and the run starts again from the beginning.</source>
        <translation>Das liegt nicht an Ihnen. Der unterbrochene Teil zählt nicht, und der Durchgang beginnt noch einmal von vorn.</translation>
    </message>
    <message>
        <source>Begin this run again</source>
        <translation>Durchgang neu beginnen</translation>
    </message>
    <message>
        <source>Send my rating</source>
        <translation>Bewertung absenden</translation>
    </message>
    <message>
        <source>With the keyboard: the number, then Enter.</source>
        <translation>Mit der Tastatur: erst die Zahl, dann die Eingabetaste.</translation>
    </message>
    <message>
        <source>You are not expected to know. Choose what you think, or say that you don't know.</source>
        <translation>Sie müssen es nicht wissen. Wählen Sie, was Sie vermuten, oder geben Sie an, dass Sie es nicht wissen.</translation>
    </message>
    <message>
        <source>Send my guess</source>
        <translation>Vermutung absenden</translation>
    </message>
    <message>
        <source>This run was stopped</source>
        <translation>Dieser Durchgang wurde abgebrochen</translation>
    </message>
    <message>
        <source>It does not count. This is not your fault. The person with you will prepare it again. Then you continue here.</source>
        <translation>Er zählt nicht. Das liegt nicht an Ihnen. Die Versuchsleitung bereitet ihn noch einmal vor. Danach geht es hier weiter.</translation>
    </message>
    <message>
        <source>Thank you! That was the last run.</source>
        <translation>Vielen Dank! Das war der letzte Durchgang.</translation>
    </message>
    <message>
        <source>The laptop is sending its data to the study's server. Please leave it on until it says goodbye.</source>
        <translation>Der Laptop sendet seine Daten an den Server der Studie. Bitte lassen Sie ihn eingeschaltet, bis er sich verabschiedet.</translation>
    </message>
    <message>
        <source>Thank you, and goodbye</source>
        <translation>Vielen Dank und auf Wiedersehen</translation>
    </message>
    <message>
        <source>You can continue in the browser, or leave.</source>
        <translation>Sie können im Browser weitermachen oder aufhören.</translation>
    </message>
    <message>
        <source>The study's server refused some of the data, which stay on this laptop. Please tell the person with you.</source>
        <translation>Der Server der Studie hat einen Teil der Daten abgelehnt. Sie bleiben auf diesem Laptop. Bitte sagen Sie der Versuchsleitung Bescheid.</translation>
    </message>
    <message>
        <source>All data have arrived. You can continue in the browser, or leave.</source>
        <translation>Alle Daten sind angekommen. Sie können im Browser weitermachen oder aufhören.</translation>
    </message>
    <message>
        <source>Next participant</source>
        <translation>Nächste Person</translation>
    </message>
    <message>
        <source>Leave the program</source>
        <translation>Programm beenden</translation>
    </message>
    <message>
        <source>Please call the person with you</source>
        <translation>Bitte rufen Sie die Versuchsleitung</translation>
    </message>
    <message>
        <source>There is a problem that the person with you must solve. All your answers are safe.</source>
        <translation>Es gibt ein Problem, das die Versuchsleitung lösen muss. Alle Ihre Antworten sind gespeichert.</translation>
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
        <source>You can stop run %1. It will not count. Plan it again on the server.</source>
        <translation>Sie können Durchgang %1 abbrechen. Er zählt dann nicht. Planen Sie ihn auf dem Server neu.</translation>
    </message>
    <message>
        <source>The reason, for the audit log</source>
        <translation>Grund (kommt ins Prüfprotokoll)</translation>
    </message>
    <message>
        <source>Stop this run</source>
        <translation>Durchgang abbrechen</translation>
    </message>
    <message>
        <source>End this practice</source>
        <translation>Übung beenden</translation>
    </message>
    <message>
        <source>No run is in progress. If the participant leaves, the laptop sends its data first.</source>
        <translation>Es läuft kein Durchgang. Wenn Sie die Teilnahme beenden, sendet der Laptop zuerst seine Daten.</translation>
    </message>
    <message>
        <source>The participant leaves</source>
        <translation>Teilnahme beenden</translation>
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
        <source>%1 of %2 runs done</source>
        <translation>%1 von %2 Durchgängen geschafft</translation>
    </message>
    <message>
        <source>The governor happed has ended.</source>
        <translation>Der Regler happed läuft nicht mehr.</translation>
    </message>
    <message>
        <source>The application has ended by itself.</source>
        <translation>Die Anwendung hat sich von selbst beendet.</translation>
    </message>
    <message>
        <source>This laptop can&apos;t save anything on its disk now. Its log says why.</source>
        <translation>Dieser Laptop kann zurzeit nichts speichern. Der Grund steht in seinem Protokoll.</translation>
    </message>
    <message>
        <source>The application can&apos;t be started. This laptop&apos;s log says why.</source>
        <translation>Die Anwendung lässt sich nicht starten. Der Grund steht im Protokoll dieses Laptops.</translation>
    </message>
    <message>
        <source>The study&apos;s server does not answer yet.</source>
        <translation>Der Server der Studie antwortet noch nicht.</translation>
    </message>
    <message>
        <source>The governor happed can&apos;t do it now. This laptop&apos;s log says why.</source>
        <translation>Der Regler happed kann das zurzeit nicht. Der Grund steht im Protokoll dieses Laptops.</translation>
    </message>
    <message>
        <source>This laptop can&apos;t read the answer of the study&apos;s server. Its log says why.</source>
        <translation>Dieser Laptop kann die Antwort des Servers der Studie nicht lesen. Der Grund steht in seinem Protokoll.</translation>
    </message>
    <message>
        <source>The browser can&apos;t be opened. This laptop&apos;s log says why.</source>
        <translation>Der Browser lässt sich nicht öffnen. Der Grund steht im Protokoll dieses Laptops.</translation>
    </message>
</context>
<context>
    <name>happe::ui::PressList</name>
    <message>
        <source>When</source>
        <translation>Wann</translation>
    </message>
    <message>
        <source>Key</source>
        <translation>Taste</translation>
    </message>
    <message>
        <source>CPU's load</source>
        <translation>CPU-Last</translation>
    </message>
    <message>
        <source>From and to</source>
        <translation>Von → auf</translation>
    </message>
    <message>
        <source>The last key presses that taught HAPPE</source>
        <translation>Die letzten Tastendrücke, aus denen HAPPE gelernt hat</translation>
    </message>
    <message>
        <source>%1 → %2</source>
        <translation>%1 → %2</translation>
    </message>
    <message>
        <source>&amp;Undo</source>
        <translation>&amp;Zurücknehmen</translation>
    </message>
    <message>
        <source>Undo the last %1</source>
        <translation>Letzte %1 zurücknehmen</translation>
    </message>
    <message>
        <source>Undo: %1</source>
        <translation>Zurücknehmen: %1</translation>
    </message>
    <message>
        <source>Undo the last %1, back to: %2</source>
        <translation>Die letzten %1 zurücknehmen, zurück bis: %2</translation>
    </message>
</context>
<context>
    <name>KeyWords</name>
    <message>
        <source>Ctrl</source>
        <translation>Strg</translation>
    </message>
    <message>
        <source>Alt</source>
        <translation>Alt</translation>
    </message>
    <message>
        <source>AltGr</source>
        <translation>AltGr</translation>
    </message>
    <message>
        <source>Shift</source>
        <translation>Umschalt</translation>
    </message>
    <message>
        <source>Super</source>
        <translation>Super</translation>
    </message>
    <message>
        <source>Up</source>
        <translation>Pfeil hoch</translation>
    </message>
    <message>
        <source>Down</source>
        <translation>Pfeil runter</translation>
    </message>
    <message>
        <source>Left</source>
        <translation>Pfeil links</translation>
    </message>
    <message>
        <source>Right</source>
        <translation>Pfeil rechts</translation>
    </message>
    <message>
        <source>left Ctrl</source>
        <translation>linke Strg</translation>
    </message>
    <message>
        <source>right Ctrl</source>
        <translation>rechte Strg</translation>
    </message>
    <message>
        <source>left Alt</source>
        <translation>linke Alt</translation>
    </message>
    <message>
        <source>left Shift</source>
        <translation>linke Umschalt</translation>
    </message>
    <message>
        <source>right Shift</source>
        <translation>rechte Umschalt</translation>
    </message>
    <message>
        <source>left Super</source>
        <translation>linke Super</translation>
    </message>
    <message>
        <source>right Super</source>
        <translation>rechte Super</translation>
    </message>
    <message>
        <source>Page up</source>
        <translation>Bild hoch</translation>
    </message>
    <message>
        <source>Page down</source>
        <translation>Bild runter</translation>
    </message>
    <message>
        <source>Home</source>
        <translation>Pos1</translation>
    </message>
    <message>
        <source>End</source>
        <translation>Ende</translation>
    </message>
    <message>
        <source>Insert</source>
        <translation>Einfg</translation>
    </message>
    <message>
        <source>Delete</source>
        <translation>Entf</translation>
    </message>
    <message>
        <source>Print</source>
        <translation>Druck</translation>
    </message>
    <message>
        <source>Scroll lock</source>
        <translation>Rollen</translation>
    </message>
    <message>
        <source>Pause</source>
        <translation>Pause</translation>
    </message>
    <message>
        <source>Menu</source>
        <translation>Menü</translation>
    </message>
    <message>
        <source>Mute</source>
        <translation>Stumm</translation>
    </message>
    <message>
        <source>Volume up</source>
        <translation>Lauter</translation>
    </message>
    <message>
        <source>Volume down</source>
        <translation>Leiser</translation>
    </message>
    <message>
        <source>Brightness up</source>
        <translation>Heller</translation>
    </message>
    <message>
        <source>Brightness down</source>
        <translation>Dunkler</translation>
    </message>
    <message>
        <source>Program 1</source>
        <translation>Programm 1</translation>
    </message>
    <message>
        <source>Program 2</source>
        <translation>Programm 2</translation>
    </message>
    <message>
        <source>Program 3</source>
        <translation>Programm 3</translation>
    </message>
    <message>
        <source>Program 4</source>
        <translation>Programm 4</translation>
    </message>
</context>
</TS>
