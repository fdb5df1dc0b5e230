-- Headwater on a cluster of replicas: every server has everything. Generated from pipelines/tables/schema.sql; after a change:
--   npx vitest run test/deploy/cluster.test.ts -u
-- Apply it once, before any process of Headwater: clickhouse-client --multiquery < cluster.sql. The processes then find all
-- tables. {cluster}, {shard} and {replica} are macros of the servers; operators and packages set them.

CREATE DATABASE IF NOT EXISTS headwater ON CLUSTER '{cluster}';

CREATE TABLE IF NOT EXISTS headwater.schema_version ON CLUSTER '{cluster}'
(
    `version` UInt32,
    `checksum` String,
    `created_at` DateTime('UTC') DEFAULT now()
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/{cluster}/{shard}/{database}/{table}', '{replica}')
ORDER BY version
SETTINGS fsync_after_insert = 1, index_granularity = 8192;

CREATE TABLE IF NOT EXISTS headwater.address_order ON CLUSTER '{cluster}'
(
    `address_key` UInt64 CODEC(T64, LZ4),
    `script_prefix` FixedString(5)
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/{cluster}/{shard}/{database}/{table}', '{replica}')
ORDER BY (address_key, script_prefix)
SETTINGS index_granularity = 1024, fsync_after_insert = 1;

CREATE TABLE IF NOT EXISTS headwater.balance_floors ON CLUSTER '{cluster}'
(
    `writer` UInt64,
    `noted_at` DateTime64(6, 'UTC'),
    `above` Int64
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/{cluster}/{shard}/{database}/{table}', '{replica}')
ORDER BY (writer, noted_at)
SETTINGS fsync_after_insert = 1, index_granularity = 8192;

CREATE TABLE IF NOT EXISTS headwater.block_heights ON CLUSTER '{cluster}'
(
    `hash` FixedString(32),
    `height` UInt32
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/{cluster}/{shard}/{database}/{table}', '{replica}')
ORDER BY hash
SETTINGS index_granularity = 64, min_compress_block_size = 4096, max_compress_block_size = 16384, fsync_after_insert = 1;

CREATE TABLE IF NOT EXISTS headwater.block_txs ON CLUSTER '{cluster}'
(
    `height` UInt32,
    `block_tag` UInt32,
    `tx_index` UInt32 CODEC(T64, LZ4),
    `txid` FixedString(32),
    `witness_tag` UInt32,
    `moved` UInt64 CODEC(T64, ZSTD(1)),
    `is_dilithium` UInt8,
    INDEX by_moved moved TYPE minmax GRANULARITY 1
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/{cluster}/{shard}/{database}/{table}', '{replica}')
ORDER BY (height, block_tag, tx_index)
SETTINGS index_granularity = 512, min_compress_block_size = 4096, max_compress_block_size = 16384, fsync_after_insert = 1;

CREATE TABLE IF NOT EXISTS headwater.blocks ON CLUSTER '{cluster}'
(
    `height` UInt32 CODEC(Delta(4), LZ4),
    `hash` FixedString(32),
    `block_tag` UInt32,
    `prev_hash` FixedString(32),
    `merkle_root` FixedString(32),
    `time` UInt32 CODEC(Delta(4), LZ4),
    `median_time` UInt32 CODEC(Delta(4), LZ4),
    `nonce` UInt32,
    `bits` UInt32,
    `version` UInt32,
    `size` UInt32 CODEC(T64, LZ4),
    `stripped_size` UInt32 CODEC(T64, LZ4),
    `weight` UInt32 CODEC(T64, LZ4),
    `tx_count` UInt32,
    `input_count` UInt32,
    `output_count` UInt32,
    `total_fees` UInt64 CODEC(T64, LZ4),
    `total_output` UInt64 CODEC(T64, LZ4),
    `subsidy` UInt64,
    `payouts` String CODEC(ZSTD(1)),
    `coinbase_script` String CODEC(ZSTD(1)),
    `chainwork` FixedString(32) CODEC(ZSTD(1)),
    `dilithium_tx_count` UInt32,
    `work` UInt256,
    `difficulty` Float64,
    `active_addresses` UInt32,
    `new_addresses` UInt32,
    `sum_txs` UInt64 CODEC(Delta(8), LZ4),
    `sum_dilithium_txs` UInt64 CODEC(Delta(8), LZ4),
    `supply` UInt64 CODEC(Delta(8), LZ4),
    `utxo_count` UInt64 CODEC(Delta(8), LZ4),
    `addresses` UInt64 CODEC(Delta(8), LZ4),
    `funded_addresses` UInt64 CODEC(Delta(8), LZ4),
    `dilithium_addresses` UInt64 CODEC(Delta(8), LZ4),
    `dilithium_funded_addresses` UInt64,
    `sum_op_returns` UInt64 CODEC(Delta(8), LZ4),
    `tx_size` UInt32 CODEC(T64, LZ4),
    `tx_weight` UInt32 CODEC(T64, LZ4),
    `min_tx_size` UInt32 CODEC(T64, LZ4),
    `median_tx_size` UInt32 CODEC(T64, LZ4),
    `max_tx_size` UInt32 CODEC(T64, LZ4),
    `min_fee` UInt64 CODEC(T64, LZ4),
    `median_fee` UInt64 CODEC(T64, LZ4),
    `max_fee` UInt64 CODEC(T64, LZ4),
    `min_fee_rate` UInt64 CODEC(T64, LZ4),
    `max_fee_rate` UInt64 CODEC(T64, LZ4),
    `fee_rate_percentiles` Array(UInt64) CODEC(ZSTD(1)),
    `segwit_tx_count` UInt32 CODEC(T64, LZ4),
    `segwit_size` UInt32 CODEC(T64, LZ4),
    `segwit_weight` UInt32 CODEC(T64, LZ4),
    `witness_input_count` UInt32 CODEC(T64, LZ4),
    `taproot_key_spends` UInt32 CODEC(T64, LZ4),
    `taproot_script_spends` UInt32 CODEC(T64, LZ4),
    `coinbase_output` UInt64 CODEC(T64, LZ4),
    `utxo_increase` Int64 CODEC(T64, LZ4),
    `utxo_size_increase` Int64 CODEC(T64, LZ4),
    `type_values` Array(UInt64) CODEC(ZSTD(1)),
    `type_exposed` Array(UInt64) CODEC(ZSTD(1)),
    `type_protected` Array(UInt64) CODEC(ZSTD(1)),
    `type_outputs` Array(UInt64) CODEC(ZSTD(1)),
    `type_funded` Array(UInt64) CODEC(ZSTD(1)),
    INDEX by_time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/{cluster}/{shard}/{database}/{table}', '{replica}')
ORDER BY (height, hash)
SETTINGS index_granularity = 256, fsync_after_insert = 1;

CREATE TABLE IF NOT EXISTS headwater.heads ON CLUSTER '{cluster}'
(
    `position` Int64,
    `previous` Int64,
    `chain` LowCardinality(String),
    `tip_height` Int64,
    `tip_hash` FixedString(32),
    `final_height` Int64,
    `epoch` UInt32,
    `sequence` UInt64,
    `disconnected` Array(FixedString(32)),
    `connected` Array(FixedString(32)),
    `blocks_before` UInt64,
    `reorgs_before` UInt64,
    `written_at` DateTime64(3, 'UTC'),
    `writer` UInt64,
    `reached` UInt8
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/{cluster}/{shard}/{database}/{table}', '{replica}')
ORDER BY (position, written_at, writer)
SETTINGS fsync_after_insert = 1, index_granularity = 8192;

CREATE TABLE IF NOT EXISTS headwater.op_returns ON CLUSTER '{cluster}'
(
    `ordinal` UInt64,
    `height` UInt32,
    `block_tag` UInt32,
    `tx_index` UInt32,
    `txid` FixedString(32),
    `vout` UInt32,
    `data` String,
    `is_script` UInt8
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/{cluster}/{shard}/{database}/{table}', '{replica}')
ORDER BY (ordinal, height, block_tag)
SETTINGS index_granularity = 256, fsync_after_insert = 1;

CREATE TABLE IF NOT EXISTS headwater.ranked_balances ON CLUSTER '{cluster}'
(
    `at_height` UInt32,
    `at_hash` FixedString(32),
    `rank` UInt64,
    `script_hash` FixedString(20),
    `address` String,
    `balance` UInt64,
    `tx_count` UInt32,
    `is_dilithium` UInt8
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/{cluster}/{shard}/{database}/{table}', '{replica}')
PARTITION BY (at_height, at_hash)
ORDER BY rank
SETTINGS index_granularity = 1024, fsync_after_insert = 1;

CREATE TABLE IF NOT EXISTS headwater.ranking_changes ON CLUSTER '{cluster}'
(
    `at_height` UInt32,
    `at_hash` FixedString(32),
    `script_hash` FixedString(20),
    `height` Int64,
    `address` String,
    `balance` UInt64,
    `tx_count` UInt32,
    `is_dilithium` UInt8
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/{cluster}/{shard}/{database}/{table}', '{replica}')
PARTITION BY (at_height, at_hash)
ORDER BY (script_hash, height)
SETTINGS index_granularity = 1024, fsync_after_insert = 1, max_bytes_to_merge_at_max_space_in_pool = 1;

CREATE TABLE IF NOT EXISTS headwater.ranking_order ON CLUSTER '{cluster}'
(
    `at_height` UInt32,
    `at_hash` FixedString(32),
    `below` UInt64,
    `address` String,
    `script_hash` FixedString(20),
    `tx_count` UInt32,
    `is_dilithium` UInt8
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/{cluster}/{shard}/{database}/{table}', '{replica}')
PARTITION BY (at_height, at_hash)
ORDER BY (below, address, script_hash)
SETTINGS index_granularity = 1024, fsync_after_insert = 1, max_bytes_to_merge_at_max_space_in_pool = 1;

CREATE TABLE IF NOT EXISTS headwater.ranking_steps ON CLUSTER '{cluster}'
(
    `at_height` UInt32,
    `at_hash` FixedString(32),
    `step` UInt32,
    `phase` LowCardinality(String),
    `done` Int64,
    `collected` UInt64,
    `base_height` Int64,
    `base_hash` FixedString(32),
    `base_size` UInt64
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/{cluster}/{shard}/{database}/{table}', '{replica}')
PARTITION BY (at_height, at_hash)
ORDER BY (at_height, at_hash, step)
SETTINGS fsync_after_insert = 1, index_granularity = 8192;

CREATE TABLE IF NOT EXISTS headwater.rankings ON CLUSTER '{cluster}'
(
    `height` UInt32,
    `block_hash` FixedString(32),
    `block_tag` UInt32,
    `size` UInt64,
    `built_at` DateTime64(3, 'UTC')
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/{cluster}/{shard}/{database}/{table}', '{replica}')
ORDER BY (height, block_hash)
SETTINGS fsync_after_insert = 1, index_granularity = 8192;

CREATE TABLE IF NOT EXISTS headwater.replaced_witnesses ON CLUSTER '{cluster}'
(
    `txid` FixedString(32),
    `height` UInt32,
    `block_tag` UInt32,
    `witness` String
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/{cluster}/{shard}/{database}/{table}', '{replica}')
ORDER BY (txid, height, block_tag)
SETTINGS index_granularity = 64, fsync_after_insert = 1;

CREATE TABLE IF NOT EXISTS headwater.script_balances ON CLUSTER '{cluster}'
(
    `height` UInt32,
    `block_tag` UInt32,
    `script_hash` FixedString(20),
    `address` String,
    `before` UInt64,
    `balance` UInt64,
    `tx_count` UInt32,
    `is_dilithium` UInt8
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/{cluster}/{shard}/{database}/{table}', '{replica}')
PARTITION BY intDiv(height, 1000)
ORDER BY (height, block_tag, script_hash)
SETTINGS index_granularity = 1024, fsync_after_insert = 1;

CREATE TABLE IF NOT EXISTS headwater.script_outputs ON CLUSTER '{cluster}'
(
    `script_hash` FixedString(20),
    `spent` UInt8,
    `height_desc` UInt32 CODEC(T64, LZ4),
    `txid_prefix` FixedString(16),
    `vout` UInt32 CODEC(T64, LZ4),
    `age` UInt32 CODEC(T64, LZ4),
    `block_tag` UInt32,
    `tx_index` UInt32 CODEC(T64, LZ4),
    `value` UInt64 CODEC(T64, ZSTD(1)),
    `height` UInt32 ALIAS 4294967295 - height_desc,
    `output_height` UInt32 ALIAS height - age
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/{cluster}/{shard}/{database}/{table}', '{replica}')
ORDER BY (script_hash, spent, height_desc, txid_prefix, vout, block_tag, age)
SETTINGS index_granularity = 512, min_compress_block_size = 4096, max_compress_block_size = 16384, merge_selector_base = 2, fsync_after_insert = 1;

CREATE TABLE IF NOT EXISTS headwater.script_txs ON CLUSTER '{cluster}'
(
    `script_hash` FixedString(20),
    `ordinal` UInt32 CODEC(T64, LZ4),
    `height` UInt32 CODEC(T64, LZ4),
    `block_tag` UInt32,
    `tx_index` UInt32 CODEC(T64, LZ4),
    `total_received` UInt64 CODEC(T64, ZSTD(1)),
    `total_sent` UInt64 CODEC(T64, ZSTD(1)),
    `funded_count` UInt32 CODEC(T64, ZSTD(1)),
    `unspent_count` UInt32 CODEC(T64, ZSTD(1)),
    `has_address` UInt8,
    `spend_kinds` UInt8,
    `open_days` Array(UInt16)
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/{cluster}/{shard}/{database}/{table}', '{replica}')
ORDER BY (script_hash, ordinal, height, block_tag)
SETTINGS index_granularity = 256, min_compress_block_size = 4096, max_compress_block_size = 16384, merge_selector_base = 2, fsync_after_insert = 1;

CREATE TABLE IF NOT EXISTS headwater.scripts ON CLUSTER '{cluster}'
(
    `script_hash` FixedString(20),
    `script` String
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/{cluster}/{shard}/{database}/{table}', '{replica}')
ORDER BY script_hash
SETTINGS index_granularity = 64, min_compress_block_size = 4096, max_compress_block_size = 16384, fsync_after_insert = 1;

CREATE TABLE IF NOT EXISTS headwater.spends ON CLUSTER '{cluster}'
(
    `prev_txid` FixedString(20),
    `prev_vout` UInt32 CODEC(T64, ZSTD(1)),
    `height` UInt32 CODEC(T64, LZ4),
    `block_tag` UInt32,
    `tx_index` UInt32 CODEC(T64, LZ4),
    `vin` UInt32 CODEC(T64, ZSTD(1))
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/{cluster}/{shard}/{database}/{table}', '{replica}')
PRIMARY KEY prev_txid
ORDER BY (prev_txid, prev_vout, height, block_tag)
SETTINGS index_granularity = 64, min_compress_block_size = 4096, max_compress_block_size = 16384, merge_selector_base = 2, fsync_after_insert = 1;

CREATE TABLE IF NOT EXISTS headwater.tx_locations ON CLUSTER '{cluster}'
(
    `txid_prefix` FixedString(8),
    `height` UInt32 CODEC(T64, LZ4),
    `block_tag` UInt32,
    `tx_index` UInt32 CODEC(T64, LZ4)
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/{cluster}/{shard}/{database}/{table}', '{replica}')
ORDER BY (txid_prefix, height, block_tag, tx_index)
SETTINGS index_granularity = 256, merge_selector_base = 2, fsync_after_insert = 1;

CREATE TABLE IF NOT EXISTS headwater.txs ON CLUSTER '{cluster}'
(
    `txid` FixedString(32),
    `height` UInt32,
    `block_tag` UInt32,
    `tx_index` UInt32,
    `is_dilithium` UInt8,
    `body` String,
    `prevouts` String,
    `witness` String
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/{cluster}/{shard}/{database}/{table}', '{replica}')
ORDER BY txid
SETTINGS index_granularity = 64, min_compress_block_size = 4096, max_compress_block_size = 16384, fsync_after_insert = 1;

CREATE TABLE IF NOT EXISTS headwater.unspent_lists ON CLUSTER '{cluster}'
(
    `script_hash` FixedString(20),
    `height` UInt32,
    `block_tag` UInt32,
    `size` UInt64,
    `built_at` DateTime64(3, 'UTC')
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/{cluster}/{shard}/{database}/{table}', '{replica}')
ORDER BY (script_hash, height, block_tag)
SETTINGS index_granularity = 256, fsync_after_insert = 1;

CREATE TABLE IF NOT EXISTS headwater.unspent_outputs ON CLUSTER '{cluster}'
(
    `script_hash` FixedString(20),
    `at_height` UInt32,
    `at_tag` UInt32,
    `ordinal` UInt64,
    `height_desc` UInt32,
    `txid` FixedString(32),
    `vout` UInt32,
    `tx_index` UInt32,
    `value` UInt64
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/{cluster}/{shard}/{database}/{table}', '{replica}')
ORDER BY (script_hash, at_height, at_tag, ordinal)
SETTINGS index_granularity = 256, fsync_after_insert = 1;

CREATE TABLE IF NOT EXISTS headwater.writers ON CLUSTER '{cluster}'
(
    `writer` UInt64,
    `position` Int64,
    `claimed_at` DateTime64(3, 'UTC'),
    `successor` String,
    `replaces` String
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/{cluster}/{shard}/{database}/{table}', '{replica}')
ORDER BY writer
SETTINGS fsync_after_insert = 1, index_granularity = 8192;

INSERT INTO headwater.schema_version (version, checksum) VALUES (3, '1c9255deba864f279bee5ebc697c1d345c29410c6e824b4b05ecfe7d1d3679da');

