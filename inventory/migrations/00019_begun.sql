-- +goose Up

-- The writes of a resource that have begun and of which no event says yet how they
-- ended: who began each, and why its operation failed. Encrypted; NULL where all have
-- ended.
ALTER TABLE resources ADD COLUMN begun BYTEA;

-- +goose Down
ALTER TABLE resources DROP COLUMN begun;
