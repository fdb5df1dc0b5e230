-- Until the index has been level with the node once, absence proves nothing: the block may not have been indexed yet. Each head
-- carries the flag on.
ALTER TABLE heads ADD COLUMN IF NOT EXISTS reached UInt8;  -- 1: the chain of this head or an earlier one was as high as the node's
