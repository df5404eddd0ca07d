-- SPDX-License-Identifier: GPL-2.0-or-later
-- The device database: what each user has taught HAPPE about each application, and every lesson that taught it.
--
-- The governor alone writes it and migrates it; others may read. It sets application_id 1212239952 (0x48415050,
-- "HAPP"), runs this file in one transaction, and sets user_version to the file's number in the same transaction.
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
    updated_us INTEGER NOT NULL CHECK (updated_us >= 0), -- when the newest lesson was learned
    UNIQUE (user, app)
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

-- What one press taught one entry of a UAFP, written in the transaction that changes the UAFP. A profile is the replay
-- of its events through Algorithm 4 from what it began with: ten times the lowest frequency, a warm start, or what was
-- known when an earlier database was found damaged.
CREATE TABLE learning_event (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, -- the order of learning; never given twice, not even after an erasure
    who INTEGER NOT NULL REFERENCES uafp (id) ON DELETE CASCADE,
    t_us INTEGER NOT NULL CHECK (t_us >= 0),
    key TEXT NOT NULL CHECK (key IN ('performance', 'power')),
    policy INTEGER NOT NULL CHECK (policy BETWEEN 0 AND 1023), -- the kernel's number of the policy that was taught
    level INTEGER NOT NULL CHECK (level BETWEEN 0 AND 9),
    from_khz INTEGER NOT NULL CHECK (from_khz BETWEEN 1 AND 20000000), -- the entry before
    to_khz INTEGER NOT NULL CHECK (to_khz BETWEEN 1 AND 20000000), -- and after
    cur_khz INTEGER NOT NULL CHECK (cur_khz BETWEEN 1 AND 20000000), -- what the policy ran at when the key was pressed
    util_ppm INTEGER NOT NULL CHECK (util_ppm BETWEEN 0 AND 1000000) -- of its busiest CPU in that period
) STRICT;

-- An index ends with the rowid, so this one reads a profile's events in the order of learning.
CREATE INDEX learning_event_of_profile ON learning_event (who);

-- Events are only ever added. The one way to remove them is to erase the profile they belong to, by deleting its row in
-- uafp: the foreign key then takes its events with it, and only then (their profile is gone before they are).
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
BEGIN
    SELECT RAISE(ABORT, 'learning events are erased with their profile only: delete its row in uafp');
END;
