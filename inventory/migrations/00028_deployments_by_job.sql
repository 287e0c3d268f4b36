-- +goose NO TRANSACTION
-- +goose Up

-- Nested deployments end with the job that runs them, in whichever subscription they lie.
CREATE INDEX deployments_by_job ON deployments (job);

-- +goose Down
DROP INDEX deployments_by_job;
