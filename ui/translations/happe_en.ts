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
    <message>
        <source>happe-indicator shows nothing here and only tells happed which application is in front.</source>
        <translation>happe-indicator shows nothing here and only tells happed which application is in front.</translation>
    </message>
    <message>
        <source>In front: %1.</source>
        <translation>In front: %1.</translation>
    </message>
    <message>
        <source>Nobody says which application is in front:</source>
        <translation>Nobody says which application is in front:</translation>
    </message>
    <message>
        <source>What is in front is said by %1.</source>
        <translation>What is in front is said by %1.</translation>
    </message>
    <message>
        <source>No window manager says which window is active (_NET_ACTIVE_WINDOW).</source>
        <translation>No window manager says which window is active (_NET_ACTIVE_WINDOW).</translation>
    </message>
    <message>
        <source>Only programs that use XWayland are seen.</source>
        <translation>Only programs that use XWayland are seen.</translation>
    </message>
    <message>
        <source>This compositor does not say whose a window is: its process is looked for by its name.</source>
        <translation>This compositor does not say whose a window is: its process is looked for by its name.</translation>
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
        <translation>Faster</translation>
    </message>
    <message>
        <source>Slower</source>
        <translation>Slower</translation>
    </message>
    <message>
        <source>HAPPE does not run. The kernel&apos;s governor decides.</source>
        <translation>HAPPE does not run. The kernel&apos;s governor decides.</translation>
    </message>
    <message>
        <source>A study&apos;s run goes on. What HAPPE does is not shown until it has ended.</source>
        <translation>A study&apos;s run goes on. What HAPPE does is not shown until it has ended.</translation>
    </message>
    <message>
        <source>HAPPE is paused. The kernel&apos;s governor decides.</source>
        <translation>HAPPE is paused. The kernel&apos;s governor decides.</translation>
    </message>
    <message>
        <source>Another program governs the CPU, and HAPPE has given up.</source>
        <translation>Another program governs the CPU, and HAPPE has given up.</translation>
    </message>
    <message>
        <source>HAPPE cannot govern every CPU here.</source>
        <translation>HAPPE cannot govern every CPU here.</translation>
    </message>
    <message>
        <source>HAPPE serves nobody here now.</source>
        <translation>HAPPE serves nobody here now.</translation>
    </message>
    <message>
        <source>HAPPE watches %1, and would choose %2, speed %3 of %4.</source>
        <translation>HAPPE watches %1, and would choose %2, speed %3 of %4.</translation>
    </message>
    <message>
        <source>HAPPE governs for %1: %2, speed %3 of %4.</source>
        <translation>HAPPE governs for %1: %2, speed %3 of %4.</translation>
    </message>
    <message>
        <source>this window</source>
        <translation>this window</translation>
    </message>
    <message>
        <source>Why: %1</source>
        <translation>Why: %1</translation>
    </message>
    <message>
        <source>The CPU is %1 % busy, %2 of what it could do.</source>
        <translation>The CPU is %1 % busy, %2 of what it could do.</translation>
    </message>
    <message>
        <source>Your keys have taught HAPPE this speed for it.</source>
        <translation>Your keys have taught HAPPE this speed for it.</translation>
    </message>
    <message>
        <source>Nothing is taught yet: it stays slow until you press the key for faster.</source>
        <translation>Nothing is taught yet: it stays slow until you press the key for faster.</translation>
    </message>
    <message>
        <source>Faster: %1. Slower: %2.</source>
        <translation>Faster: %1. Slower: %2.</translation>
    </message>
    <message>
        <source>No keyboard has them; others can be set in /etc/happe/happe.toml.</source>
        <translation>No keyboard has them; others can be set in /etc/happe/happe.toml.</translation>
    </message>
    <message>
        <source>%1: %2</source>
        <translation>%1: %2</translation>
    </message>
    <message numerus="yes">
        <source>Found on %n keyboard(s).</source>
        <translation>
            <numerusform>Found on %n keyboard.</numerusform>
            <numerusform>Found on %n keyboards.</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>Tray</name>
    <message>
        <source>&amp;Open HAPPE</source>
        <translation>&amp;Open HAPPE</translation>
    </message>
    <message>
        <source>&amp;Pause HAPPE</source>
        <translation>&amp;Pause HAPPE</translation>
    </message>
</context>
<context>
    <name>happe::ui::OwnerWindow</name>
    <message>
        <source>&amp;Pause HAPPE</source>
        <translation>&amp;Pause HAPPE</translation>
    </message>
    <message>
        <source>F&amp;orget this application…</source>
        <translation>F&amp;orget this application…</translation>
    </message>
    <message>
        <source>Find a &amp;key…</source>
        <translation>Find a &amp;key…</translation>
    </message>
    <message>
        <source>&amp;Start the indicator with the session</source>
        <translation>&amp;Start the indicator with the session</translation>
    </message>
    <message>
        <source>HAPPE</source>
        <translation>HAPPE</translation>
    </message>
    <message>
        <source>When</source>
        <translation>When</translation>
    </message>
    <message>
        <source>Key</source>
        <translation>Key</translation>
    </message>
    <message>
        <source>CPU&apos;s work</source>
        <translation>CPU&apos;s work</translation>
    </message>
    <message>
        <source>From and to</source>
        <translation>From and to</translation>
    </message>
    <message>
        <source>The last key presses that were learned from</source>
        <translation>The last key presses that were learned from</translation>
    </message>
    <message>
        <source>Application</source>
        <translation>Application</translation>
    </message>
    <message>
        <source>&amp;Application</source>
        <translation>&amp;Application</translation>
    </message>
    <message>
        <source>Refused: %1</source>
        <translation>Refused: %1</translation>
    </message>
    <message>
        <source>Counted: %1</source>
        <translation>Counted: %1</translation>
    </message>
    <message>
        <source>This key is %1. Write it into /etc/happe/happe.toml, as the key for faster or slower.</source>
        <translation>This key is %1. Write it into /etc/happe/happe.toml, as the key for faster or slower.</translation>
    </message>
    <message>
        <source>Press a key that types no text, within half a minute.</source>
        <translation>Press a key that types no text, within half a minute.</translation>
    </message>
    <message>
        <source>HAPPE goes on when this program ends, at the latest.</source>
        <translation>HAPPE goes on when this program ends, at the latest.</translation>
    </message>
    <message>
        <source>&amp;Go on</source>
        <translation>&amp;Go on</translation>
    </message>
    <message>
        <source>%1 → %2</source>
        <translation>%1 → %2</translation>
    </message>
    <message>
        <source>Forget what HAPPE has learned for %1? It begins anew, at the lowest speed.</source>
        <translation>Forget what HAPPE has learned for %1? It begins anew, at the lowest speed.</translation>
    </message>
    <message>
        <source>&amp;Forget</source>
        <translation>&amp;Forget</translation>
    </message>
    <message>
        <source>&amp;Keep</source>
        <translation>&amp;Keep</translation>
    </message>
</context>
<context>
    <name>happe::ui::StepChart</name>
    <message>
        <source>What HAPPE has learned</source>
        <translation>What HAPPE has learned</translation>
    </message>
    <message>
        <source>Nothing to show</source>
        <translation>Nothing to show</translation>
    </message>
    <message>
        <source>How much the CPU does, in % of what its top speed could</source>
        <translation>How much the CPU does, in % of what its top speed could</translation>
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
    <message>
        <source>Who sits down?</source>
        <translation>Who sits down?</translation>
    </message>
    <message>
        <source>Paste or type the participant's link. Consent, questions and instructions open in the browser; then it goes on here.</source>
        <translation>Paste or type the participant's link. Consent, questions and instructions open in the browser; then it goes on here.</translation>
    </message>
    <message>
        <source>The participant's link</source>
        <translation>The participant's link</translation>
    </message>
    <message>
        <source>Begin</source>
        <translation>Begin</translation>
    </message>
    <message>
        <source>Please go on in the browser</source>
        <translation>Please go on in the browser</translation>
    </message>
    <message>
        <source>There you read what the study is about, answer some questions, and read the instructions. When you have read them, this window goes on by itself.</source>
        <translation>There you read what the study is about, answer some questions, and read the instructions. When you have read them, this window goes on by itself.</translation>
    </message>
    <message>
        <source>Open the pages again</source>
        <translation>Open the pages again</translation>
    </message>
    <message>
        <source>Practice: %1</source>
        <translation>Practice: %1</translation>
    </message>
    <message>
        <source>Try it until you feel at home, for up to %1. It ends by itself, or when you leave it.</source>
        <translation>Try it until you feel at home, for up to %1. It ends by itself, or when you leave it.</translation>
    </message>
    <message>
        <source>Start the practice</source>
        <translation>Start the practice</translation>
    </message>
    <message>
        <source>I know it already</source>
        <translation>I know it already</translation>
    </message>
    <message>
        <source>Next: %1</source>
        <translation>Next: %1</translation>
    </message>
    <message>
        <source>It lasts %1 and ends by itself, even in the middle of something. Then you say how it was. Rest as long as you like before you start.</source>
        <translation>It lasts %1 and ends by itself, even in the middle of something. Then you say how it was. Rest as long as you like before you start.</translation>
    </message>
    <message>
        <source>Start</source>
        <translation>Start</translation>
    </message>
    <message>
        <source>One moment, please</source>
        <translation>One moment, please</translation>
    </message>
    <message>
        <source>The laptop is asking the study's server. It tries until it is answered; what you have said so far is kept here.</source>
        <translation>The laptop is asking the study's server. It tries until it is answered; what you have said so far is kept here.</translation>
    </message>
    <message numerus="yes">
        <source>It starts in %n second(s)</source>
        <translation>
            <numerusform>It starts in %n second</numerusform>
            <numerusform>It starts in %n seconds</numerusform>
        </translation>
    </message>
    <message>
        <source>This run was interrupted</source>
        <translation>This run was interrupted</translation>
    </message>
    <message>
        <source>That is not your fault. What was played does not count, and the run begins once more, from its beginning.</source>
        <translation>That is not your fault. What was played does not count, and the run begins once more, from its beginning.</translation>
    </message>
    <message>
        <source>Begin this run again</source>
        <translation>Begin this run again</translation>
    </message>
    <message>
        <source>Send my rating</source>
        <translation>Send my rating</translation>
    </message>
    <message>
        <source>With the keyboard: the number, then Enter.</source>
        <translation>With the keyboard: the number, then Enter.</translation>
    </message>
    <message>
        <source>Nobody expects you to know. Say what you think, or that you don't know.</source>
        <translation>Nobody expects you to know. Say what you think, or that you don't know.</translation>
    </message>
    <message>
        <source>Send my guess</source>
        <translation>Send my guess</translation>
    </message>
    <message>
        <source>This run was stopped</source>
        <translation>This run was stopped</translation>
    </message>
    <message>
        <source>It does not count, and that is not your fault. The person who is with you prepares it once more; then it goes on here.</source>
        <translation>It does not count, and that is not your fault. The person who is with you prepares it once more; then it goes on here.</translation>
    </message>
    <message>
        <source>Thank you! That was the last run.</source>
        <translation>Thank you! That was the last run.</translation>
    </message>
    <message>
        <source>The laptop sends what it has kept to the study's server. Please leave it on until it says goodbye.</source>
        <translation>The laptop sends what it has kept to the study's server. Please leave it on until it says goodbye.</translation>
    </message>
    <message>
        <source>Thank you, and goodbye</source>
        <translation>Thank you, and goodbye</translation>
    </message>
    <message>
        <source>You may go on in the browser, or leave.</source>
        <translation>You may go on in the browser, or leave.</translation>
    </message>
    <message>
        <source>Not everything has arrived: the study's server refused some of it, which is kept here. Please tell the person who is with you.</source>
        <translation>Not everything has arrived: the study's server refused some of it, which is kept here. Please tell the person who is with you.</translation>
    </message>
    <message>
        <source>What was kept here has arrived. You may go on in the browser, or leave.</source>
        <translation>What was kept here has arrived. You may go on in the browser, or leave.</translation>
    </message>
    <message>
        <source>Next participant</source>
        <translation>Next participant</translation>
    </message>
    <message>
        <source>Leave the program</source>
        <translation>Leave the program</translation>
    </message>
    <message>
        <source>Please call the person who is with you</source>
        <translation>Please call the person who is with you</translation>
    </message>
    <message>
        <source>Something is to be put right before it goes on. Nothing that you said is lost.</source>
        <translation>Something is to be put right before it goes on. Nothing that you said is lost.</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>Try again</translation>
    </message>
    <message>
        <source>For the experimenter</source>
        <translation>For the experimenter</translation>
    </message>
    <message>
        <source>Run %1 can be stopped. It will not count, and is to be planned anew on the server.</source>
        <translation>Run %1 can be stopped. It will not count, and is to be planned anew on the server.</translation>
    </message>
    <message>
        <source>The reason; it is kept in the audit log</source>
        <translation>The reason; it is kept in the audit log</translation>
    </message>
    <message>
        <source>Stop this run</source>
        <translation>Stop this run</translation>
    </message>
    <message>
        <source>End this practice</source>
        <translation>End this practice</translation>
    </message>
    <message>
        <source>No run is under way. If the participant leaves, what is kept here is sent first.</source>
        <translation>No run is under way. If the participant leaves, what is kept here is sent first.</translation>
    </message>
    <message>
        <source>The participant leaves</source>
        <translation>The participant leaves</translation>
    </message>
    <message>
        <source>Back</source>
        <translation>Back</translation>
    </message>
    <message>
        <source>Run %1 of %2</source>
        <translation>Run %1 of %2</translation>
    </message>
    <message>
        <source>%1 of %2 runs behind you</source>
        <translation>%1 of %2 runs behind you</translation>
    </message>
    <message>
        <source>The governor happed has ended.</source>
        <translation>The governor happed has ended.</translation>
    </message>
    <message>
        <source>The application has ended by itself.</source>
        <translation>The application has ended by itself.</translation>
    </message>
    <message>
        <source>This laptop can&apos;t keep anything on its disk now. Its log says why.</source>
        <translation>This laptop can&apos;t keep anything on its disk now. Its log says why.</translation>
    </message>
    <message>
        <source>The application can&apos;t be started. This laptop&apos;s log says why.</source>
        <translation>The application can&apos;t be started. This laptop&apos;s log says why.</translation>
    </message>
</context>
</TS>
