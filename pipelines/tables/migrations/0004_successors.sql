-- A database can hand over to another one that was built from the same log (`npm run replay -- --into`), by one row that is a
-- takeover as well: from its position on, no head of this database counts, and readers of this row find the successor.
ALTER TABLE writers
    ADD COLUMN IF NOT EXISTS successor String,            -- the database that serves from this position on; empty for none
    ADD COLUMN IF NOT EXISTS replaces String;             -- during a build: the database that this one will replace
