<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="de_DE" sourcelanguage="en_GB">
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
</TS>
