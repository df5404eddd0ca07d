-- SPDX-License-Identifier: GPL-2.0-or-later
-- Bounds, lest a key that is never let go fills a disk. Of a user the governor keeps the 1,000 profiles that were taught
-- last, of a profile the 10,000 newest events. A profile of more lessons is the replay of its events from the oldest
-- one's from_khz no longer; its row in uafp is what counts, as always.

-- Instead of the trigger of 0001: the oldest events of a profile go when there are 10,000 newer ones.
DROP TRIGGER learning_event_goes_with_its_profile;
CREATE TRIGGER learning_event_goes_with_its_profile BEFORE DELETE ON learning_event
WHEN EXISTS (SELECT 1 FROM uafp WHERE id = OLD.who)
 AND NOT EXISTS (SELECT 1 FROM learning_event WHERE who = OLD.who AND seq > OLD.seq LIMIT 1 OFFSET 9999)
BEGIN
    SELECT RAISE(ABORT, 'learning events are erased with their profile only (delete its row in uafp), or the oldest beyond 10000');
END;
