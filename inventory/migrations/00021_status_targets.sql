-- +goose Up

-- Where the status of an operation is polled, of which the result is made that clients
-- poll at a URL of Portico's own. Empty for all other URLs. A version that does not know
-- of it answers such a URL by the operation's resource.
ALTER TABLE operations ADD COLUMN status_target TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE operations DROP COLUMN status_target;
