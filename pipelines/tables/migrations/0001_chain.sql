-- Every row of a block contains (height, block_hash): readers take the rows of the blocks on the head's chain, so a row of
-- a branch that is being written, or that was replaced, is never visible. A row is a pure function of its block's hash:
-- writing it again changes nothing (ReplacingMergeTree merges the copies, but readers do not depend on it).
-- Hashes are 32 bytes in display order.

-- One row makes a state visible: the row with the highest position is the head.
CREATE TABLE heads
(
    position      Int64,                        -- of topic `chain`: the last event applied to this state
    previous      Int64,                        -- position of the head before this one, -1 for none
    chain         LowCardinality(String),       -- main, test, signet, regtest
    tip_height    Int64,                        -- -1 for a chain without blocks
    tip_hash      FixedString(32),
    final_height  Int64,                        -- at and below it readers leave out only stale blocks
    epoch         UInt32,                       -- epoch of the last event
    sequence      UInt64,
    disconnected  Array(FixedString(32)),       -- highest first
    connected     Array(FixedString(32)),       -- lowest first
    blocks_before UInt64,                       -- blocks connected by all previous heads: numbers the feed
    reorgs_before UInt64,                       -- reorganisations of all previous heads
    written_at    DateTime64(3, 'UTC')
)
ENGINE = ReplacingMergeTree ORDER BY (position, written_at)
SETTINGS fsync_after_insert = 1;

-- Written before every other row of its block, so that every block that left a row is known by its hash.
CREATE TABLE blocks
(
    height        UInt32,
    hash          FixedString(32),
    prev_hash     FixedString(32),
    merkle_root   FixedString(32),
    time          UInt32,
    median_time   UInt32,
    nonce         UInt32,
    bits          UInt32,
    version       Int32,
    size          UInt32,
    stripped_size UInt32,
    weight        UInt32,
    tx_count      UInt32,
    input_count   UInt32,                       -- without the coinbase
    output_count  UInt32,
    total_fees    UInt64,
    total_output  UInt64,                       -- of all transactions except the coinbase
    subsidy       UInt64,
    miner_script  String,                       -- the first coinbase output with an address, empty for none
    coinbase_script String,
    chainwork     FixedString(32),              -- big endian
    dilithium_tx_count UInt32,
    -- totals of the chain up to and including this block
    sum_txs       UInt64,
    sum_dilithium_txs UInt64,
    supply        UInt64,                       -- Σ unspent outputs
    utxo_count    UInt64,
    addresses     UInt64,                       -- ever seen
    funded_addresses UInt64,                    -- with a balance above zero
    dilithium_addresses UInt64,                 -- ever seen, Dilithium
    dilithium_funded_addresses UInt64
)
ENGINE = ReplacingMergeTree ORDER BY (height, hash)
SETTINGS index_granularity = 256, fsync_after_insert = 1;

CREATE TABLE block_heights (hash FixedString(32), height UInt32)
ENGINE = EmbeddedRocksDB PRIMARY KEY hash;

-- The transactions of a block, in order. Columns that depend on the witness are here, because two blocks may contain the same
-- txid with different witnesses.
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
    is_dilithium  UInt8
)
ENGINE = ReplacingMergeTree ORDER BY (height, block_hash, tx_index)
SETTINGS index_granularity = 1024, fsync_after_insert = 1;

-- The same rows by txid: the location of a transaction.
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

-- The data that a txid determines: the transaction without its witnesses, and the outputs that its inputs spend.
CREATE TABLE tx_bodies
(
    txid          FixedString(32),
    body          String,                       -- serialised without witnesses
    prevouts      String                        -- per input: value u64 LE, compact size, script; empty for a coinbase
)
ENGINE = EmbeddedRocksDB PRIMARY KEY txid;

-- The data that a wtxid determines: the witnesses (only for transactions that have one).
CREATE TABLE tx_witnesses
(
    wtxid         FixedString(32),
    witness       String                        -- as serialised: per input a compact size count and items
)
ENGINE = EmbeddedRocksDB PRIMARY KEY wtxid;

-- The input that spends an output.
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

-- One row per script and transaction, numbered along the chain (`ordinal`, from 1), with the script's totals after it:
-- a summary is the last visible row, a page is a range of ordinals, however long the history. script_hash = sha256(script).
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
    shows_dilithium UInt8                       -- has spent with a Dilithium signature or redeem script
)
ENGINE = ReplacingMergeTree ORDER BY (script_hash, ordinal, height, block_hash)
SETTINGS index_granularity = 256, fsync_after_insert = 1;

-- The outputs of a script in the order in which they are listed (height descending, by its complement), and their spends as
-- separate rows: an output is unspent if it has a visible row with spent = 0 and none with spent = 1.
CREATE TABLE script_outputs
(
    script_hash   FixedString(32),
    depth         UInt32,                       -- 4294967295 − height of the block that created it
    txid          FixedString(32),
    vout          UInt32,
    spent         UInt8,
    height        UInt32,                       -- of the creating or the spending block
    block_hash    FixedString(32),
    value         UInt64
)
ENGINE = ReplacingMergeTree ORDER BY (script_hash, depth, txid, vout, spent, height, block_hash)
SETTINGS index_granularity = 512, fsync_after_insert = 1;

-- Scripts by their hash.
CREATE TABLE scripts (script_hash FixedString(32), script String)
ENGINE = EmbeddedRocksDB PRIMARY KEY script_hash;
