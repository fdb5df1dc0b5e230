-- One row for each materializer that took over: from its position on only its heads count, and those of later ones. What an
-- older one writes beyond it, woken from the dead, is never visible.
CREATE TABLE writers
(
    writer        UInt64,                       -- grows from one to the next
    position      Int64,                        -- of the newest head when it took over, -1 for none
    claimed_at    DateTime64(3, 'UTC')
)
ENGINE = ReplacingMergeTree ORDER BY writer
SETTINGS fsync_after_insert = 1;

ALTER TABLE heads ADD COLUMN IF NOT EXISTS writer UInt64, MODIFY ORDER BY (position, written_at, writer);
