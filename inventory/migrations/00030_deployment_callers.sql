-- +goose Up

-- A key of who began a deployment, and so those nested in it, by which the deployments of
-- one caller that are under way are counted. It is empty if a version began the deployment that
-- does not know of it: that counts for the subscription alone.
ALTER TABLE deployments ADD COLUMN caller TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE deployments DROP COLUMN caller;
