-- One row for each takeover by a materializer: from its position on, only its heads and those of later writers count. What an
-- older writer writes beyond it, after it resumes, is never visible.
CREATE TABLE writers
(
    writer        UInt64,                       -- higher than all before
    position      Int64,                        -- of the newest head when it took over, -1 for none
    claimed_at    DateTime64(3, 'UTC')
)
ENGINE = ReplacingMergeTree ORDER BY writer
SETTINGS fsync_after_insert = 1;

ALTER TABLE heads ADD COLUMN IF NOT EXISTS writer UInt64, MODIFY ORDER BY (position, written_at, writer);
