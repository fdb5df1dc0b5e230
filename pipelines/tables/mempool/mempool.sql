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
