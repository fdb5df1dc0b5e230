-- Reading some rows of a script decompresses the blocks around them: smaller ones take half the time of a summary, and all
-- tables together 1 % more disk. New parts have them, and others after their next merge.
ALTER TABLE script_txs MODIFY SETTING min_compress_block_size = 4096, max_compress_block_size = 16384;
ALTER TABLE script_outputs MODIFY SETTING min_compress_block_size = 4096, max_compress_block_size = 16384;
