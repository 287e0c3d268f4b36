-- +goose Up

-- The region that the work of a job depends on; empty for work that no single
-- region holds up. Claims take jobs region by region, so that one which does not
-- answer leaves room for the others.
ALTER TABLE jobs ADD COLUMN region TEXT NOT NULL DEFAULT '';
UPDATE jobs SET region = COALESCE((SELECT r.region FROM resources r WHERE r.subscription = jobs.subscription AND r.key = jobs.subject), '')
    WHERE kind IN ('verify', 'follow');
CREATE INDEX jobs_by_region ON jobs (shard, kind, region, due);

-- +goose Down
DROP INDEX jobs_by_region;
ALTER TABLE jobs DROP COLUMN region;
