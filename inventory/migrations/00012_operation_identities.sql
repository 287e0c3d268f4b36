-- +goose Up

-- Which operation a polling URL is of, however the URL is spelled. Empty for URLs
-- that were recorded before: they are known by their exact spelling alone until
-- they expire.
ALTER TABLE operations ADD COLUMN identity TEXT NOT NULL DEFAULT '';
CREATE INDEX operations_by_identity ON operations (subscription, identity, tenant, object);

-- +goose Down
DROP INDEX operations_by_identity;
ALTER TABLE operations DROP COLUMN identity;
