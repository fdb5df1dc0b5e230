-- The tables that answers about transactions and addresses are read from, as they were on 2026-11-22. Frozen: these are a
-- baseline, so they do not change with pipelines/tables/schema.sql. Hashes are 32 bytes in display order.

CREATE TABLE block_txs
(
    height        UInt32,
    block_hash    FixedString(32),
    tx_index      UInt32,
    txid          FixedString(32),
    wtxid         FixedString(32),
    time          UInt32,
    size          UInt32,
    weight        UInt32,
    is_dilithium  UInt8,
    moved         UInt64,
    INDEX by_moved moved TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree ORDER BY (height, block_hash, tx_index)
SETTINGS index_granularity = 1024, fsync_after_insert = 1;

CREATE TABLE tx_places
(
    txid          FixedString(32),
    height        UInt32,
    block_hash    FixedString(32),
    tx_index      UInt32,
    wtxid         FixedString(32),
    time          UInt32,
    size          UInt32,
    weight        UInt32,
    is_dilithium  UInt8
)
ENGINE = ReplacingMergeTree ORDER BY (txid, height, block_hash)
SETTINGS index_granularity = 64, min_compress_block_size = 4096, max_compress_block_size = 16384, fsync_after_insert = 1;

CREATE TABLE tx_bodies
(
    txid          FixedString(32),
    body          String,
    prevouts      String
)
ENGINE = EmbeddedRocksDB PRIMARY KEY txid;

CREATE TABLE tx_witnesses
(
    wtxid         FixedString(32),
    witness       String
)
ENGINE = EmbeddedRocksDB PRIMARY KEY wtxid;

CREATE TABLE spends
(
    prev_txid     FixedString(32),
    prev_vout     UInt32,
    height        UInt32,
    block_hash    FixedString(32),
    txid          FixedString(32),
    vin           UInt32
)
ENGINE = ReplacingMergeTree ORDER BY (prev_txid, prev_vout, height, block_hash)
SETTINGS index_granularity = 64, min_compress_block_size = 4096, max_compress_block_size = 16384, fsync_after_insert = 1;

CREATE TABLE script_txs
(
    script_hash   FixedString(32),
    ordinal       UInt64,
    height        UInt32,
    block_hash    FixedString(32),
    tx_index      UInt32,
    txid          FixedString(32),
    time          UInt32,
    received      UInt64,
    sent          UInt64,
    total_received UInt64,
    total_sent    UInt64,
    unspent_count UInt64,
    first_height  UInt32,
    first_time    UInt32,
    shows_dilithium UInt8,
    open_days     Array(UInt16)
)
ENGINE = ReplacingMergeTree ORDER BY (script_hash, ordinal, height, block_hash)
SETTINGS index_granularity = 256, fsync_after_insert = 1;

CREATE TABLE script_outputs
(
    script_hash   FixedString(32),
    depth         UInt32,
    txid          FixedString(32),
    vout          UInt32,
    spent         UInt8,
    height        UInt32,
    block_hash    FixedString(32),
    value         UInt64
)
ENGINE = ReplacingMergeTree ORDER BY (script_hash, depth, txid, vout, spent, height, block_hash)
SETTINGS index_granularity = 512, fsync_after_insert = 1;

CREATE TABLE scripts (script_hash FixedString(32), script String)
ENGINE = EmbeddedRocksDB PRIMARY KEY script_hash;
