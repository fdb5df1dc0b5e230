-- A ranking is built in steps, each a query of bounded size: balances are collected by script, ordered, and numbered into
-- ranked_balances. Each completed step has a row here, so that a build continues after a restart; the newest step counts.
CREATE TABLE ranking_steps
(
    at_height     UInt32,                       -- height of the block of the ranking
    at_hash       FixedString(32),
    step          UInt32,
    phase         LowCardinality(String),       -- the next phase: base, changes, order, number
    done          Int64,                        -- progress of the phase: ranks copied, height collected, range ordered, ranks assigned
    collected     UInt64,                       -- number of rows of ranking_changes
    base_height   Int64,                        -- the previous ranking, -1 for none
    base_hash     FixedString(32),
    base_size     UInt64
)
ENGINE = ReplacingMergeTree ORDER BY (at_height, at_hash, step) PARTITION BY (at_height, at_hash)
SETTINGS fsync_after_insert = 1;

-- For a ranking that is being built: balances of the previous ranking, and after each range of blocks since, by script. Never
-- merged, because it is dropped within minutes.
CREATE TABLE ranking_changes
(
    at_height     UInt32,
    at_hash       FixedString(32),
    script_hash   FixedString(32),
    height        Int64,                        -- of the last change
    address       String,
    balance       UInt64,
    tx_count      UInt64,
    is_dilithium  UInt8
)
ENGINE = ReplacingMergeTree ORDER BY (script_hash, height) PARTITION BY (at_height, at_hash)
SETTINGS index_granularity = 1024, fsync_after_insert = 1, max_bytes_to_merge_at_max_space_in_pool = 1;

-- For the same ranking: the resulting balances, in the order of their ranks.
CREATE TABLE ranking_order
(
    at_height     UInt32,
    at_hash       FixedString(32),
    below         UInt64,                       -- 2^64 − 1 − balance
    address       String,
    script_hash   FixedString(32),
    tx_count      UInt64,
    is_dilithium  UInt8
)
ENGINE = ReplacingMergeTree ORDER BY (below, address, script_hash) PARTITION BY (at_height, at_hash)
SETTINGS index_granularity = 1024, fsync_after_insert = 1, max_bytes_to_merge_at_max_space_in_pool = 1;
