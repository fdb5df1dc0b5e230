-- An earlier form of this migration also filled script_spends:
-- formerly 6be8f1d45869e6eb50bdd233839bd09baf7456de761dd26d812844d7e5393b27

-- The spends of a script's outputs by the spending block, newest last: the changes above a height are a range. They equal the
-- rows of script_outputs with spent = 1, which are ordered by output. There are none for blocks that an earlier version wrote,
-- and none are needed: this table is read only above a list, and no list is older than this table.
CREATE TABLE script_spends
(
    script_hash   FixedString(32),
    height        UInt32,                       -- of the spending block
    block_hash    FixedString(32),
    depth         UInt32,                       -- 4294967295 − height of the block that created the output
    txid          FixedString(32),
    vout          UInt32
)
ENGINE = ReplacingMergeTree ORDER BY (script_hash, height, block_hash, depth, txid, vout)
SETTINGS index_granularity = 256, fsync_after_insert = 1;

-- All unspent outputs of a script that has spent many, as of a block, numbered in the order in which they are listed: valid as
-- long as that block is part of the chain. Readers apply later changes.
CREATE TABLE unspent_outputs
(
    script_hash   FixedString(32),
    at_height     UInt32,
    at_hash       FixedString(32),
    place         UInt64,                       -- from 1
    depth         UInt32,
    txid          FixedString(32),
    vout          UInt32,
    value         UInt64
)
ENGINE = ReplacingMergeTree ORDER BY (script_hash, at_height, at_hash, place)
SETTINGS index_granularity = 256, fsync_after_insert = 1;

-- Written after all rows of a list.
CREATE TABLE unspent_lists
(
    script_hash   FixedString(32),
    height        UInt32,
    block_hash    FixedString(32),
    size          UInt64,
    built_at      DateTime64(3, 'UTC')
)
ENGINE = ReplacingMergeTree ORDER BY (script_hash, height, block_hash)
SETTINGS index_granularity = 256, fsync_after_insert = 1;
