-- +goose Up

-- A polling URL may stand in for one that clients cannot be given.
ALTER TABLE operations ADD COLUMN origin TEXT NOT NULL DEFAULT '';
ALTER TABLE operations ADD COLUMN target TEXT NOT NULL DEFAULT '';
ALTER TABLE operations ADD COLUMN stands_in SMALLINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE operations DROP COLUMN stands_in;
ALTER TABLE operations DROP COLUMN target;
ALTER TABLE operations DROP COLUMN origin;
