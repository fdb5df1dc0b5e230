-- Another database that was built from the same log can take a database's place (`npm run replay -- --into`): one row does
-- it, since it is a claim as well: from its position on nothing of this database counts, and who reads it finds the next one.
ALTER TABLE writers
    ADD COLUMN IF NOT EXISTS successor String,            -- the database that serves from here on; empty for none
    ADD COLUMN IF NOT EXISTS replaces String;             -- of one that is being built: the database whose place it is to take
