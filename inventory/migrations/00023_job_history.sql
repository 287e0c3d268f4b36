-- +goose Up

-- The last steps of a job, the newest first, a line of JSON each. A version that does not
-- know of it records none.
ALTER TABLE jobs ADD COLUMN history TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE jobs DROP COLUMN history;
