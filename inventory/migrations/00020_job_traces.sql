-- +goose Up

-- The span that began the job, in the form of traceparent; empty where it was not
-- sampled. Attempts go on with its trace.
ALTER TABLE jobs ADD COLUMN trace TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE jobs DROP COLUMN trace;
