-- SPDX-License-Identifier: GPL-2.0-or-later
-- The device database: what each user has taught HAPPE about each application, and every lesson that taught it.
--
-- The governor alone writes it; others may read. It sets application_id 1212239952 (0x48415050, "HAPP"), runs this file
-- in one transaction, and sets user_version to 3 in the same transaction. It refuses a database of another version.
--
-- Of a user the governor keeps the 1,000 profiles that were taught last, of a profile the 10,000 newest events, lest a key
-- that is never let go fills a disk. The row in uafp is what counts, not the replay of the events.
--
-- Units: khz_N, from_khz, to_khz are kHz of the machine's fastest ladder (docs/traces.md, Hybrid CPUs); cur_khz is kHz
-- of the policy's own ladder, as the kernel's cpufreq counts. *_us are microseconds since 1970-01-01 UTC by the wall
-- clock, which may be set back: the order of learning is the order of learning_event.seq.

-- A user-application frequency profile (UAFP, section A.4 of the paper): for level N, a tenth of normalised
-- utilisation, the lowest frequency that satisfies this user of this application. A higher level never has a lower
-- frequency.
CREATE TABLE uafp (
    id INTEGER PRIMARY KEY AUTOINCREMENT, -- never given twice
    user TEXT NOT NULL CHECK (length(CAST(user AS BLOB)) BETWEEN 1 AND 255),
    app TEXT NOT NULL CHECK (length(CAST(app AS BLOB)) BETWEEN 1 AND 255),
    source TEXT NOT NULL DEFAULT '' CHECK (source IN ('', 'mains', 'battery')), -- of power; '': this profile is for both
    khz_0 INTEGER NOT NULL,
    khz_1 INTEGER NOT NULL,
    khz_2 INTEGER NOT NULL,
    khz_3 INTEGER NOT NULL,
    khz_4 INTEGER NOT NULL,
    khz_5 INTEGER NOT NULL,
    khz_6 INTEGER NOT NULL,
    khz_7 INTEGER NOT NULL,
    khz_8 INTEGER NOT NULL,
    khz_9 INTEGER NOT NULL,
    updated_us INTEGER NOT NULL CHECK (updated_us >= 0), -- when the newest lesson was learned or undone
    -- JSON of what descent of mode `extended` remembers: wait_us and quiet_us (docs/traces.md). NULL: as of a new profile.
    state TEXT CHECK (length(CAST(state AS BLOB)) BETWEEN 2 AND 4096),
    UNIQUE (user, app, source)
) STRICT;

-- A lesson, or its undoing. The newest lesson of a profile that is not undone is undone first, so a profile after an
-- undoing is what it was before the lesson, to the last byte. The row of the undoing repeats the lesson's policy, level,
-- cur_khz and util_ppm; its from_khz is the lesson's to_khz, and the other way round.
CREATE TABLE learning_event (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, -- the order of learning; never given twice, not even after an erasure
    who INTEGER NOT NULL REFERENCES uafp (id) ON DELETE CASCADE,
    t_us INTEGER NOT NULL CHECK (t_us >= 0),
    key TEXT NOT NULL CHECK (key IN ('performance', 'power', 'probe', 'undo')), -- probe: mode `extended` accepted one
    undoes INTEGER CHECK (undoes BETWEEN 1 AND seq - 1), -- the lesson's seq; it may be one that is not kept now
    policy INTEGER NOT NULL CHECK (policy BETWEEN 0 AND 1023), -- the kernel's number of the policy that was taught
    level INTEGER NOT NULL CHECK (level BETWEEN 0 AND 9),
    from_khz INTEGER NOT NULL CHECK (from_khz BETWEEN 1 AND 20000000), -- the entry before
    to_khz INTEGER NOT NULL CHECK (to_khz BETWEEN 1 AND 20000000), -- and after
    cur_khz INTEGER NOT NULL CHECK (cur_khz BETWEEN 1 AND 20000000), -- what the policy ran at when the key was pressed
    util_ppm INTEGER NOT NULL CHECK (util_ppm BETWEEN 0 AND 1000000), -- of its busiest CPU in that period
    -- The whole profile before a lesson. NULL of an undoing.
    before_0 INTEGER,
    before_1 INTEGER,
    before_2 INTEGER,
    before_3 INTEGER,
    before_4 INTEGER,
    before_5 INTEGER,
    before_6 INTEGER,
    before_7 INTEGER,
    before_8 INTEGER,
    before_9 INTEGER,
    before_state TEXT CHECK (length(CAST(before_state AS BLOB)) BETWEEN 2 AND 4096), -- and its state
    CHECK ((key = 'undo') = (undoes IS NOT NULL))
) STRICT;

-- The algorithm keeps a UAFP monotonic after every update (Algorithm 4); the database keeps it so whoever writes.
CREATE TRIGGER uafp_insert_is_monotonic BEFORE INSERT ON uafp
BEGIN
    SELECT RAISE(ABORT, 'a UAFP must have 1 to 20000000 kHz at each level')
    WHERE min(NEW.khz_0, NEW.khz_1, NEW.khz_2, NEW.khz_3, NEW.khz_4,
              NEW.khz_5, NEW.khz_6, NEW.khz_7, NEW.khz_8, NEW.khz_9) < 1
       OR max(NEW.khz_0, NEW.khz_1, NEW.khz_2, NEW.khz_3, NEW.khz_4,
              NEW.khz_5, NEW.khz_6, NEW.khz_7, NEW.khz_8, NEW.khz_9) > 20000000;
    SELECT RAISE(ABORT, 'a UAFP must not descend from one level to the next')
    WHERE NOT (NEW.khz_0 <= NEW.khz_1 AND NEW.khz_1 <= NEW.khz_2 AND NEW.khz_2 <= NEW.khz_3 AND
               NEW.khz_3 <= NEW.khz_4 AND NEW.khz_4 <= NEW.khz_5 AND NEW.khz_5 <= NEW.khz_6 AND
               NEW.khz_6 <= NEW.khz_7 AND NEW.khz_7 <= NEW.khz_8 AND NEW.khz_8 <= NEW.khz_9);
END;

CREATE TRIGGER uafp_update_is_monotonic BEFORE UPDATE ON uafp
BEGIN
    SELECT RAISE(ABORT, 'a UAFP must have 1 to 20000000 kHz at each level')
    WHERE min(NEW.khz_0, NEW.khz_1, NEW.khz_2, NEW.khz_3, NEW.khz_4,
              NEW.khz_5, NEW.khz_6, NEW.khz_7, NEW.khz_8, NEW.khz_9) < 1
       OR max(NEW.khz_0, NEW.khz_1, NEW.khz_2, NEW.khz_3, NEW.khz_4,
              NEW.khz_5, NEW.khz_6, NEW.khz_7, NEW.khz_8, NEW.khz_9) > 20000000;
    SELECT RAISE(ABORT, 'a UAFP must not descend from one level to the next')
    WHERE NOT (NEW.khz_0 <= NEW.khz_1 AND NEW.khz_1 <= NEW.khz_2 AND NEW.khz_2 <= NEW.khz_3 AND
               NEW.khz_3 <= NEW.khz_4 AND NEW.khz_4 <= NEW.khz_5 AND NEW.khz_5 <= NEW.khz_6 AND
               NEW.khz_6 <= NEW.khz_7 AND NEW.khz_7 <= NEW.khz_8 AND NEW.khz_8 <= NEW.khz_9);
END;

-- An index ends with the rowid, so this one reads a profile's events in the order of learning.
CREATE INDEX learning_event_of_profile ON learning_event (who);

-- No lesson is undone twice.
CREATE UNIQUE INDEX learning_event_undoes ON learning_event (undoes) WHERE undoes IS NOT NULL;

-- Events are only ever added. They go when the row of their profile in uafp is deleted (the foreign key then takes them
-- along), and the oldest of a profile when there are 10,000 newer ones.
CREATE TRIGGER learning_event_is_not_changed BEFORE UPDATE ON learning_event
BEGIN
    SELECT RAISE(ABORT, 'learning events are never changed');
END;

CREATE TRIGGER learning_event_is_not_replaced BEFORE INSERT ON learning_event
WHEN EXISTS (SELECT 1 FROM learning_event WHERE seq = NEW.seq)
BEGIN
    SELECT RAISE(ABORT, 'learning events are never replaced');
END;

CREATE TRIGGER learning_event_goes_with_its_profile BEFORE DELETE ON learning_event
WHEN EXISTS (SELECT 1 FROM uafp WHERE id = OLD.who)
 AND NOT EXISTS (SELECT 1 FROM learning_event WHERE who = OLD.who AND seq > OLD.seq LIMIT 1 OFFSET 9999)
BEGIN
    SELECT RAISE(ABORT, 'learning events are erased with their profile only (delete its row in uafp), or the oldest beyond 10000');
END;
