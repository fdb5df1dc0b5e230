-- Schema version 3.
--
-- A change of this file needs a new version. No database is altered: with another version, its rows are written again from the log,
-- into a second database that replaces it.
--
-- A row names its block by height and tag, the last four bytes of the block's hash in display order. No two blocks of one height
-- have the same tag: the materializer refuses the second. Readers take the rows of the blocks on the head's chain, so a row of a
-- branch that is being written, or that was replaced, is never visible. A row is a pure function of its block's hash: writing it
-- again changes nothing (ReplacingMergeTree merges the copies, but readers do not depend on it). The time of a row is that of its
-- block. txid and hashes of blocks are in display order.
--
-- Reading some rows of a script decompresses the blocks around them: smaller ones (max_compress_block_size) take half the time of a
-- summary, and all tables together 1 % more disk. So does reading transactions of many blocks. A point read looks into each part of a table whose keys are spread over all of
-- them. So their parts are merged in twos rather than in fives (merge_selector_base), which leaves 1 to 3 instead of 3 to 7 after a
-- backfill of a million transactions. In return, the first backfill postpones merges (merges.ts).

-- One row, written after all tables were created.
CREATE TABLE schema_version
(
    version       UInt32,                       -- of this file
    checksum      String,                       -- SHA-256 of its statements
    created_at    DateTime('UTC') DEFAULT now()
)
ENGINE = ReplacingMergeTree ORDER BY version
SETTINGS fsync_after_insert = 1;

-- One row makes a state visible: the row with the highest position is the head.
CREATE TABLE heads
(
    position      Int64,                        -- of topic `chain`: the last event applied to this state
    previous      Int64,                        -- position of the head before this one, -1 for none
    chain         LowCardinality(String),       -- name of the network, such as btq-main
    tip_height    Int64,                        -- -1 for a chain without blocks
    tip_hash      FixedString(32),
    final_height  Int64,                        -- at and below it readers leave out only stale blocks
    epoch         UInt32,                       -- epoch of the last event
    sequence      UInt64,
    disconnected  Array(FixedString(32)),       -- highest first
    connected     Array(FixedString(32)),       -- lowest first
    blocks_before UInt64,                       -- blocks connected by all previous heads: numbers the feed
    reorgs_before UInt64,                       -- reorganisations of all previous heads
    written_at    DateTime64(3, 'UTC'),
    writer        UInt64,
    reached       UInt8                         -- 1: the chain of this head or an earlier one was as high as the node's
)
ENGINE = ReplacingMergeTree ORDER BY (position, written_at, writer)
SETTINGS fsync_after_insert = 1;

-- One row for each takeover by a materializer: from its position on, only its heads and those of later writers count. What an
-- older writer writes beyond it, after it resumes, is never visible.
CREATE TABLE writers
(
    writer        UInt64,                       -- higher than all before
    position      Int64,                        -- of the newest head when it took over, -1 for none
    claimed_at    DateTime64(3, 'UTC'),
    successor     String,                       -- the database that serves from this position on; empty for none
    replaces      String                        -- during a build: the database that this one will replace
)
ENGINE = ReplacingMergeTree ORDER BY writer
SETTINGS fsync_after_insert = 1;

-- Written before every other row of its block, so that every block that left a row is known by its hash.
CREATE TABLE blocks
(
    height        UInt32 CODEC(Delta, LZ4),
    hash          FixedString(32),
    block_tag     UInt32,                       -- of the hash
    prev_hash     FixedString(32),
    merkle_root   FixedString(32),
    time          UInt32 CODEC(Delta, LZ4),
    median_time   UInt32 CODEC(Delta, LZ4),
    nonce         UInt32,
    bits          UInt32,
    version       UInt32,
    size          UInt32 CODEC(T64, LZ4),
    stripped_size UInt32 CODEC(T64, LZ4),
    weight        UInt32 CODEC(T64, LZ4),
    tx_count      UInt32,
    input_count   UInt32,                       -- without the coinbase
    output_count  UInt32,
    total_fees    UInt64 CODEC(T64, LZ4),
    total_output  UInt64 CODEC(T64, LZ4), -- of all transactions except the coinbase
    subsidy       UInt64,
    payouts       String CODEC(ZSTD(1)), -- scripts with an address that the coinbase pays, largest output first: per script compact size, script
    coinbase_script String CODEC(ZSTD(1)),
    chainwork     FixedString(32) CODEC(ZSTD(1)), -- big endian
    dilithium_tx_count UInt32,
    work          UInt256,                      -- 2^256 ÷ (target + 1)
    difficulty    Float64,
    active_addresses UInt32,                    -- touched for the first time on this block's UTC day
    new_addresses UInt32,                       -- touched for the first time ever
    -- totals of the chain up to and including this block
    sum_txs       UInt64 CODEC(Delta, LZ4),
    sum_dilithium_txs UInt64 CODEC(Delta, LZ4),
    supply        UInt64 CODEC(Delta, LZ4), -- Σ unspent outputs
    utxo_count    UInt64 CODEC(Delta, LZ4),
    addresses     UInt64 CODEC(Delta, LZ4), -- ever seen
    funded_addresses UInt64 CODEC(Delta, LZ4), -- with a balance above zero
    dilithium_addresses UInt64 CODEC(Delta, LZ4), -- ever seen, Dilithium
    dilithium_funded_addresses UInt64,
    sum_op_returns UInt64 CODEC(Delta, LZ4), -- rows of op_returns
    -- statistics of the transactions except the coinbase, as getblockstats has them; 0 for a block without
    tx_size       UInt32 CODEC(T64, LZ4), -- Σ
    tx_weight     UInt32 CODEC(T64, LZ4), -- Σ
    min_tx_size   UInt32 CODEC(T64, LZ4),
    median_tx_size UInt32 CODEC(T64, LZ4),
    max_tx_size   UInt32 CODEC(T64, LZ4),
    min_fee       UInt64 CODEC(T64, LZ4),
    median_fee    UInt64 CODEC(T64, LZ4),
    max_fee       UInt64 CODEC(T64, LZ4),
    min_fee_rate  UInt64 CODEC(T64, LZ4), -- base units per virtual byte, rounded down
    max_fee_rate  UInt64 CODEC(T64, LZ4),
    fee_rate_percentiles Array(UInt64) CODEC(ZSTD(1)), -- the 10th, 25th, 50th, 75th and 90th by weight; empty for a block without transactions
    segwit_tx_count UInt32 CODEC(T64, LZ4), -- with a witness
    segwit_size   UInt32 CODEC(T64, LZ4), -- Σ of these
    segwit_weight UInt32 CODEC(T64, LZ4), -- Σ of these
    witness_input_count UInt32 CODEC(T64, LZ4), -- inputs with a witness
    taproot_key_spends UInt32 CODEC(T64, LZ4), -- inputs that spend P2TR outputs by their key
    taproot_script_spends UInt32 CODEC(T64, LZ4), -- or by a script
    -- statistics of the block
    coinbase_output UInt64 CODEC(T64, LZ4), -- Σ
    utxo_increase Int64 CODEC(T64, LZ4), -- of the number of unspent outputs
    utxo_size_increase Int64 CODEC(T64, LZ4), -- bytes of unspent outputs, as the node counts them
    -- totals of the unspent outputs after this block, by the type of their scripts (SPENDABLE_TYPES), without zeros at the end
    type_values   Array(UInt64) CODEC(ZSTD(1)), -- Σ, base units
    type_exposed  Array(UInt64) CODEC(ZSTD(1)), -- Σ of scripts of which the chain shows a key that is not of Dilithium
    type_protected Array(UInt64) CODEC(ZSTD(1)), -- Σ of scripts that require a Dilithium signature, or each of whose spends had one
    type_outputs  Array(UInt64) CODEC(ZSTD(1)), -- number
    type_funded   Array(UInt64) CODEC(ZSTD(1)), -- scripts with a balance above zero
    INDEX by_time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree ORDER BY (height, hash)
SETTINGS index_granularity = 256, fsync_after_insert = 1;

CREATE TABLE block_heights (hash FixedString(32), height UInt32)
ENGINE = EmbeddedRocksDB PRIMARY KEY hash;

-- Transactions. The txid determines body and prevouts. The other columns belong to the block that was written last: if it is not
-- on the reader's chain, another block of another branch contains the same transaction, and tx_locations names it.
CREATE TABLE txs
(
    txid          FixedString(32),
    height        UInt32,
    block_tag     UInt32,
    tx_index      UInt32,
    is_dilithium  UInt8,                        -- an input has a Dilithium signature
    body          String,                       -- serialised without witnesses
    prevouts      String,                       -- per input: value u64 LE, compact size, script; empty for a coinbase
    witness       String                        -- as serialised: per input a compact size count and items; empty for none
)
ENGINE = EmbeddedRocksDB PRIMARY KEY txid;

-- All locations that a transaction ever had, by the first 8 bytes of its txid: block_txs has the whole one.
CREATE TABLE tx_locations
(
    txid_prefix   FixedString(8),
    height        UInt32 CODEC(T64, LZ4),
    block_tag     UInt32,
    tx_index      UInt32 CODEC(T64, LZ4)
)
ENGINE = ReplacingMergeTree ORDER BY (txid_prefix, height, block_tag, tx_index)
SETTINGS index_granularity = 256, merge_selector_base = 2, fsync_after_insert = 1;

-- Witnesses of blocks that a reorganisation has disconnected, written before the next rows of txs, and of transactions that blocks
-- of other branches contain, too: a transaction may have another witness in each block that contains it.
CREATE TABLE replaced_witnesses
(
    txid          FixedString(32),
    height        UInt32,
    block_tag     UInt32,
    witness       String
)
ENGINE = ReplacingMergeTree ORDER BY (txid, height, block_tag)
SETTINGS index_granularity = 64, fsync_after_insert = 1;

-- The transactions of a block, in order.
CREATE TABLE block_txs
(
    height        UInt32,
    block_tag     UInt32,
    tx_index      UInt32 CODEC(T64, LZ4),
    txid          FixedString(32),
    witness_tag   UInt32,                       -- the first four bytes of the wtxid; 0 for a transaction without witness
    moved         UInt64 CODEC(T64, ZSTD(1)), -- the value that left its owners, without outputs to a script among the inputs
    is_dilithium  UInt8,
    INDEX by_moved moved TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree ORDER BY (height, block_tag, tx_index)
SETTINGS index_granularity = 512, min_compress_block_size = 4096, max_compress_block_size = 16384, fsync_after_insert = 1;

-- The input that spends an output, by the first 20 bytes of the txid of the output.
CREATE TABLE spends
(
    prev_txid     FixedString(20),
    prev_vout     UInt32 CODEC(T64, ZSTD(1)),
    height        UInt32 CODEC(T64, LZ4),       -- of the spending block
    block_tag     UInt32,
    tx_index      UInt32 CODEC(T64, LZ4),       -- of the spending transaction: block_txs has its txid
    vin           UInt32 CODEC(T64, ZSTD(1))
)
ENGINE = ReplacingMergeTree PRIMARY KEY prev_txid ORDER BY (prev_txid, prev_vout, height, block_tag)
SETTINGS index_granularity = 64, min_compress_block_size = 4096, max_compress_block_size = 16384, merge_selector_base = 2, fsync_after_insert = 1;

-- One row per script and transaction, numbered along the chain (`ordinal`, from 1), with the script's totals after it:
-- a summary is the last visible row, a page is a range of ordinals, however long the history. What a transaction receives and
-- sends is the difference to the row before. script_hash is the first 20 bytes of sha256(script).
CREATE TABLE script_txs
(
    script_hash   FixedString(20),
    ordinal       UInt32 CODEC(T64, LZ4),
    height        UInt32 CODEC(T64, LZ4),
    block_tag     UInt32,
    tx_index      UInt32 CODEC(T64, LZ4),       -- block_txs has the txid
    total_received UInt64 CODEC(T64, ZSTD(1)),
    total_sent    UInt64 CODEC(T64, ZSTD(1)),
    funded_count  UInt32 CODEC(T64, ZSTD(1)), -- outputs ever received
    unspent_count UInt32 CODEC(T64, ZSTD(1)),
    has_address   UInt8,
    spend_kinds   UInt8,                        -- has spent 1: with a Dilithium signature or redeem script, 2: without a signature, 3: both
    -- UTC days (since 1970) on which the script was touched and which a later block can still have: block times are not ordered,
    -- but the time of a block is always after the median of the previous eleven.
    open_days     Array(UInt16)
)
ENGINE = ReplacingMergeTree ORDER BY (script_hash, ordinal, height, block_tag)
SETTINGS index_granularity = 256, min_compress_block_size = 4096, max_compress_block_size = 16384, merge_selector_base = 2, fsync_after_insert = 1;

-- The outputs of a script in the order in which they are listed (newest block first), and their spends as separate rows, newest
-- block first too: an output is unspent if it has a visible row with spent = 0 and none with spent = 1. So what blocks above a
-- height created and spent is found at once, however old the spent outputs are. The first 16 bytes of a txid identify it: to make two
-- transactions with the same ones takes 2^64 hashes. block_txs has the whole txid, by the block and tx_index of the row with spent = 0.
CREATE TABLE script_outputs
(
    script_hash   FixedString(20),
    spent         UInt8,
    height_desc   UInt32 CODEC(T64, LZ4),       -- 4294967295 − height
    txid_prefix   FixedString(16),              -- of the output
    vout          UInt32 CODEC(T64, LZ4),
    age           UInt32 CODEC(T64, LZ4),       -- number of blocks from its creation to its spend; 0 in rows with spent = 0
    block_tag     UInt32,
    tx_index      UInt32 CODEC(T64, LZ4),       -- of the transaction that created it, 0 for a coinbase; 0 in rows of spends
    value         UInt64 CODEC(T64, ZSTD(1)),
    height        UInt32 ALIAS 4294967295 - height_desc, -- of the creating or the spending block
    output_height UInt32 ALIAS height - age     -- of the block that created it
)
ENGINE = ReplacingMergeTree ORDER BY (script_hash, spent, height_desc, txid_prefix, vout, block_tag, age)
SETTINGS index_granularity = 512, min_compress_block_size = 4096, max_compress_block_size = 16384, merge_selector_base = 2, fsync_after_insert = 1;

-- All unspent outputs of a script that has spent many, as of a block, numbered in the order in which they are listed: valid as
-- long as that block is part of the chain. Readers apply later changes.
CREATE TABLE unspent_outputs
(
    script_hash   FixedString(20),
    at_height     UInt32,
    at_tag        UInt32,
    ordinal       UInt64,                       -- from 1
    height_desc   UInt32,
    txid          FixedString(32),
    vout          UInt32,
    tx_index      UInt32,
    value         UInt64
)
ENGINE = ReplacingMergeTree ORDER BY (script_hash, at_height, at_tag, ordinal)
SETTINGS index_granularity = 256, fsync_after_insert = 1;

-- Written after all rows of a list.
CREATE TABLE unspent_lists
(
    script_hash   FixedString(20),
    height        UInt32,
    block_tag     UInt32,
    size          UInt64,
    built_at      DateTime64(3, 'UTC')
)
ENGINE = ReplacingMergeTree ORDER BY (script_hash, height, block_tag)
SETTINGS index_granularity = 256, fsync_after_insert = 1;

-- Scripts by their hash.
CREATE TABLE scripts (script_hash FixedString(20), script String)
ENGINE = EmbeddedRocksDB PRIMARY KEY script_hash;

-- The scripts with an address in the order of their addresses, so that the beginning of an address is a range. A row belongs to no
-- block: script_txs has the blocks of its script, which the first five bytes of the hash nearly always identify.
CREATE TABLE address_order
(
    address_key   UInt64 CODEC(T64, LZ4),       -- the kind of the address, and the first five bytes of its hash or witness program
    script_prefix FixedString(5)                -- of the script's hash
)
ENGINE = ReplacingMergeTree ORDER BY (address_key, script_prefix)
SETTINGS index_granularity = 1024, fsync_after_insert = 1;

-- The balance of each script with an address after each block that touches it, and before it. Complete above the height in
-- balance_floors: a ranking is built from the one before and the changes since, or else from script_txs.
CREATE TABLE script_balances
(
    height        UInt32,
    block_tag     UInt32,
    script_hash   FixedString(20),
    address       String,
    before        UInt64,
    balance       UInt64,
    tx_count      UInt32,
    is_dilithium  UInt8
)
ENGINE = ReplacingMergeTree ORDER BY (height, block_tag, script_hash) PARTITION BY intDiv(height, 1000)
SETTINGS index_granularity = 1024, fsync_after_insert = 1;

-- The height above which all blocks have rows in script_balances; the newest row counts, -1 without one. 4294967295 during a
-- backfill that writes none. A ranking below it is not used, because changes since are missing.
CREATE TABLE balance_floors
(
    writer        UInt64,
    noted_at      DateTime64(6, 'UTC'),
    above         Int64
)
ENGINE = ReplacingMergeTree ORDER BY (writer, noted_at)
SETTINGS fsync_after_insert = 1;

-- All funded addresses, ranked, as of a block: a pure function of that block's hash, valid as long as the block is part of the
-- chain. Readers apply later changes from script_balances.
CREATE TABLE ranked_balances
(
    at_height     UInt32,
    at_hash       FixedString(32),
    rank          UInt64,
    script_hash   FixedString(20),
    address       String,
    balance       UInt64,
    tx_count      UInt32,
    is_dilithium  UInt8
)
ENGINE = ReplacingMergeTree ORDER BY rank PARTITION BY (at_height, at_hash)
SETTINGS index_granularity = 1024, fsync_after_insert = 1;

-- Written after all rows of a ranking.
CREATE TABLE rankings
(
    height        UInt32,
    block_hash    FixedString(32),
    block_tag     UInt32,                       -- of block_hash
    size          UInt64,
    built_at      DateTime64(3, 'UTC')
)
ENGINE = ReplacingMergeTree ORDER BY (height, block_hash)
SETTINGS fsync_after_insert = 1;

-- A ranking is built in steps, each a query of bounded size: balances are collected by script, ordered, and numbered into
-- ranked_balances. Each completed step has a row here, so that a build continues after a restart; the newest step counts.
CREATE TABLE ranking_steps
(
    at_height     UInt32,                       -- height of the block of the ranking
    at_hash       FixedString(32),
    step          UInt32,
    phase         LowCardinality(String),       -- the next phase: scripts or base, changes, order, number
    done          Int64,                        -- progress of the phase: range of scripts, ranks or height collected, range ordered, ranks assigned
    collected     UInt64,                       -- number of rows of ranking_changes
    base_height   Int64,                        -- the previous ranking, -1 for none
    base_hash     FixedString(32),
    base_size     UInt64
)
ENGINE = ReplacingMergeTree ORDER BY (at_height, at_hash, step) PARTITION BY (at_height, at_hash)
SETTINGS fsync_after_insert = 1;

-- For a ranking that is being built: balances of the previous ranking, or of all scripts, and after each range of blocks since,
-- by script. Never merged, because it is dropped within minutes.
CREATE TABLE ranking_changes
(
    at_height     UInt32,
    at_hash       FixedString(32),
    script_hash   FixedString(20),
    height        Int64,                        -- of the last change
    address       String,
    balance       UInt64,
    tx_count      UInt32,
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
    script_hash   FixedString(20),
    tx_count      UInt32,
    is_dilithium  UInt8
)
ENGINE = ReplacingMergeTree ORDER BY (below, address, script_hash) PARTITION BY (at_height, at_hash)
SETTINGS index_granularity = 1024, fsync_after_insert = 1, max_bytes_to_merge_at_max_space_in_pool = 1;

-- Numbered along the chain (`ordinal`, from 1), so that a page is a range, however deep. Does not include witness commitments.
CREATE TABLE op_returns
(
    ordinal       UInt64,
    height        UInt32,
    block_tag     UInt32,
    tx_index      UInt32,
    txid          FixedString(32),
    vout          UInt32,
    data          String,                       -- what the script pushes, or the script after OP_RETURN if it is not data only
    is_script     UInt8                         -- 1: the script after OP_RETURN
)
ENGINE = ReplacingMergeTree ORDER BY (ordinal, height, block_tag)
SETTINGS index_granularity = 256, fsync_after_insert = 1;
