-- A point read of these tables looks into each of their parts, because their keys are spread over all of them. So parts are merged in
-- twos rather than in fives, which leaves 1 to 3 instead of 3 to 7 after a backfill of a million transactions. In return, the first
-- backfill postpones merges (merges.ts).
ALTER TABLE tx_locations MODIFY SETTING merge_selector_base = 2;
ALTER TABLE spends MODIFY SETTING merge_selector_base = 2;
ALTER TABLE script_txs MODIFY SETTING merge_selector_base = 2;
ALTER TABLE script_outputs MODIFY SETTING merge_selector_base = 2;
