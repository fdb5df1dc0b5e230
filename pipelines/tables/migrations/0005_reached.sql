-- Until the index has once been where the node is, what it does not know may only not have been reached. Each head carries it on.
ALTER TABLE heads ADD COLUMN IF NOT EXISTS reached UInt8;  -- 1: once, the chain up to this head or an earlier one was as high as the node's
