-- The tables of the mempool's history, in a database of their own: a new index of the chain does not replace them, because topic `node`
-- of the log, from which they are written, is retained for a day only.
--
-- A row is a pure function of the log: writing it again changes nothing, and readers drop copies by key. Nothing of the chain
-- depends on these tables. The materializer creates those that are missing. Never change a table that a release has created: add
-- another one, because explorers of both versions read them during an update. txids are in display order.

-- How far topic `node` has been applied: the newest row counts.
CREATE TABLE journal
(
    id            UInt8,                        -- 0
    chain         LowCardinality(String),       -- name of the network
    position      Int64,                        -- of topic `node`: the last event applied
    time          DateTime64(3, 'UTC'),         -- of that event in the log: shows whether the log is still the same one
    written_at    DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = ReplacingMergeTree ORDER BY id
SETTINGS fsync_after_insert = 1;

-- A transaction that left the mempool without being in a block: replaced, evicted, expired, or for an unknown reason. In the order
-- in which they left. Partitions of six hours are dropped, oldest first.
CREATE TABLE dropped_txs
(
    left_at       DateTime64(3, 'UTC'),         -- time of its event in the log
    position      UInt64,                       -- of its event in topic `node`
    item          UInt32,                       -- its index among those that left by this event
    txid          FixedString(32),
    reason        UInt8,                        -- as in the event, `PoolLeft.Reason`
    replaced_by   FixedString(32),              -- zeros if it was not replaced
    fee           UInt64,
    vsize         UInt32,
    first_seen    UInt32,                       -- Unix seconds; 0 if the event is of an earlier version
    signalled     UInt8,                        -- 1: it, or an ancestor in the mempool, signalled that it may be replaced; 0: not; 2: not known
    raw           String CODEC(ZSTD(1))         -- serialised with witnesses; empty if the event is of an earlier version
)
ENGINE = ReplacingMergeTree
PARTITION BY intDiv(toUnixTimestamp64Milli(left_at), 21600000)
ORDER BY (left_at, position, item)
SETTINGS index_granularity = 256, fsync_after_insert = 1;

-- The rows of dropped_txs by the first 8 bytes of a txid: that of the transaction, and that of the one that replaced it.
CREATE TABLE dropped_keys
(
    txid_prefix   FixedString(8),
    is_replacer   UInt8,                        -- 1: the prefix is that of `replaced_by`
    left_at       DateTime64(3, 'UTC'),
    position      UInt64,
    item          UInt32
)
ENGINE = ReplacingMergeTree
PARTITION BY intDiv(toUnixTimestamp64Milli(left_at), 21600000)
ORDER BY (txid_prefix, is_replacer, left_at, position, item)
SETTINGS index_granularity = 256, fsync_after_insert = 1;

-- When the node first saw a transaction that left the mempool with a block. Partitions of 30 days are dropped, oldest first.
CREATE TABLE first_seen
(
    txid_prefix   FixedString(8),               -- the first 8 bytes of the txid
    first_seen    UInt32                        -- Unix seconds
)
ENGINE = ReplacingMergeTree
PARTITION BY intDiv(first_seen, 2592000)
ORDER BY (txid_prefix, first_seen)
SETTINGS index_granularity = 256, fsync_after_insert = 1;

-- The state of the mempool at the end of a minute, hour or day: after the last event of it. There is none for a time in which the
-- mempool was not observed. In the order of time.
CREATE TABLE mempool_samples
(
    step          UInt32,                       -- seconds: 60, 3600 or 86400
    start         UInt32,                       -- Unix seconds, a multiple of step
    taken_at      DateTime64(3, 'UTC'),         -- time of the last event in the log: of an hour or a day, the latest counts
    tx_count      UInt32,
    vsize         UInt64,
    fees          UInt64,
    min_fee       Int64,                        -- the lowest that enters, in base units per 1000 vbytes; -1 if it is not known
    entered       UInt64,                       -- transactions that have ever entered: differences count
    bands         Array(UInt64)                 -- virtual sizes by effective fee rate, by the edges of rate-bands.ts
)
ENGINE = ReplacingMergeTree(taken_at)
PARTITION BY (step, intDiv(start, step * 1000))
ORDER BY (step, start)
SETTINGS index_granularity = 1024, fsync_after_insert = 1;

-- What entered the mempool in a minute that was observed from begin to end, by effective fee rate at that time. In the order of time.
CREATE TABLE mempool_arrivals
(
    start         UInt32,                       -- Unix seconds, a multiple of 60
    entered       Array(UInt64),                -- virtual sizes of what entered, by the steps of rate-steps.ts
    dropped       Array(UInt64)                 -- the same of what was replaced, evicted or expired: left without a block
)
ENGINE = ReplacingMergeTree
PARTITION BY intDiv(start, 60000)
ORDER BY start
SETTINGS index_granularity = 1024, fsync_after_insert = 1;

-- A block that was connected, and the one that the projection expected instead, both without coinbase. If a block is connected several
-- times, the first row counts. Partitions of 30 days are dropped, oldest first.
CREATE TABLE expected_blocks
(
    height           UInt32,
    hash             FixedString(32),
    seen_at          DateTime64(3, 'UTC'),      -- time of the event in the log that connects the block
    observed_at      DateTime64(3, 'UTC'),      -- time of the last event before, by which the mempool is known to be the node's
    expected_count   UInt32,
    expected_weight  UInt32,
    expected_vsize   UInt32,
    expected_fees    UInt64,
    mined_count      UInt32,
    mined_weight     UInt32,
    mined_vsize      UInt32,
    mined_fees       UInt64,
    matched_count    UInt32,                    -- those in both
    matched_weight   UInt32,
    matched_vsize    UInt32,
    matched_fees     UInt64
)
ENGINE = ReplacingMergeTree
PARTITION BY intDiv(toUnixTimestamp64Milli(seen_at), 2592000000)
ORDER BY (height, hash, seen_at)
SETTINGS index_granularity = 256, fsync_after_insert = 1;

-- A transaction that only one of these blocks has; the first 1000 of each kind.
CREATE TABLE block_differences
(
    height           UInt32,
    hash             FixedString(32),
    seen_at          DateTime64(3, 'UTC'),
    kind             UInt8,                     -- 0: missing from the mined block, 1: added by it
    item             UInt32,                    -- its index among those of the kind, in the order of the block
    txid             FixedString(32),
    fee              UInt64,
    vsize            UInt32,
    rated_fee        UInt64,                    -- of the package in which it was taken: its effective fee rate
    rated_vsize      UInt32,
    reason           LowCardinality(String)
)
ENGINE = ReplacingMergeTree
PARTITION BY intDiv(toUnixTimestamp64Milli(seen_at), 2592000000)
ORDER BY (height, hash, seen_at, kind, item)
SETTINGS index_granularity = 256, fsync_after_insert = 1;
