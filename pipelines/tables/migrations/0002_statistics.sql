-- Statistics, whale alerts and OP_RETURN. The columns are cumulative like all others, so rows without them are dropped and
-- computed again from the log, which retains blocks indefinitely.
TRUNCATE TABLE heads;
TRUNCATE TABLE blocks;
TRUNCATE TABLE block_heights;
TRUNCATE TABLE block_txs;
TRUNCATE TABLE tx_places;
TRUNCATE TABLE spends;
TRUNCATE TABLE script_txs;
TRUNCATE TABLE script_outputs;
TRUNCATE TABLE scripts;

ALTER TABLE blocks
    ADD COLUMN IF NOT EXISTS work UInt256,                -- 2^256 ÷ (target + 1)
    ADD COLUMN IF NOT EXISTS difficulty Float64,
    ADD COLUMN IF NOT EXISTS active_addresses UInt32,     -- touched for the first time on this block's UTC day
    ADD COLUMN IF NOT EXISTS new_addresses UInt32,        -- touched for the first time ever
    ADD COLUMN IF NOT EXISTS sum_op_returns UInt64,       -- rows of op_returns up to and including this block
    ADD INDEX IF NOT EXISTS by_time time TYPE minmax GRANULARITY 1;

-- The value that left its owners: outputs that return to a script among the inputs do not count. 0 for a coinbase.
ALTER TABLE block_txs
    ADD COLUMN IF NOT EXISTS moved UInt64,
    ADD INDEX IF NOT EXISTS by_moved moved TYPE minmax GRANULARITY 1;

-- UTC days (since 1970) on which the script was touched and which a later block can still have: block times are not ordered,
-- but the time of a block is always after the median of the previous eleven.
ALTER TABLE script_txs ADD COLUMN IF NOT EXISTS open_days Array(UInt16);

-- The balance of each script with an address after each block that touches it, and before it.
CREATE TABLE script_balances
(
    height        UInt32,
    block_hash    FixedString(32),
    script_hash   FixedString(32),
    address       String,
    before        UInt64,
    balance       UInt64,
    tx_count      UInt64,
    is_dilithium  UInt8
)
ENGINE = ReplacingMergeTree ORDER BY (height, block_hash, script_hash)
SETTINGS index_granularity = 1024, fsync_after_insert = 1;

-- All funded addresses, ranked, as of a block: a pure function of that block's hash, valid as long as the block is part of the
-- chain. Readers apply later changes from script_balances.
CREATE TABLE ranked_balances
(
    at_height     UInt32,
    at_hash       FixedString(32),
    rank          UInt64,
    script_hash   FixedString(32),
    address       String,
    balance       UInt64,
    tx_count      UInt64,
    is_dilithium  UInt8
)
ENGINE = ReplacingMergeTree ORDER BY rank PARTITION BY (at_height, at_hash)
SETTINGS index_granularity = 1024, fsync_after_insert = 1;

-- Written after all rows of a ranking.
CREATE TABLE rankings
(
    height        UInt32,
    block_hash    FixedString(32),
    size          UInt64,
    built_at      DateTime64(3, 'UTC')
)
ENGINE = ReplacingMergeTree ORDER BY (height, block_hash)
SETTINGS fsync_after_insert = 1;

-- Numbered along the chain (`ordinal`, from 1), so that a page is a range, however deep. Does not include witness commitments.
CREATE TABLE op_returns
(
    ordinal       UInt64,
    height        UInt32,
    block_hash    FixedString(32),
    tx_index      UInt32,
    txid          FixedString(32),
    vout          UInt32,
    time          UInt32,
    data          String
)
ENGINE = ReplacingMergeTree ORDER BY (ordinal, height, block_hash)
SETTINGS index_granularity = 256, fsync_after_insert = 1;
