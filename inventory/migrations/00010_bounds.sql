-- +goose Up

-- The bytes of a batch that are counted for its caller, and the token of its
-- operation, which goes with it.
ALTER TABLE request_batches ADD COLUMN bytes BIGINT NOT NULL DEFAULT 0;
ALTER TABLE request_batches ADD COLUMN token TEXT NOT NULL DEFAULT '';

-- The operations that are remembered for one caller.
CREATE INDEX operations_by_caller ON operations (subscription, tenant, object, until);

-- The names and values of tags that are defined are counted from now on.
INSERT INTO usage (subscription, grp, type, n)
    SELECT subscription, '', 'tag names', COUNT(*) FROM tag_names GROUP BY subscription;

-- +goose Down
DELETE FROM usage WHERE type IN ('tag names', 'batch bytes');
DROP INDEX operations_by_caller;
ALTER TABLE request_batches DROP COLUMN token;
ALTER TABLE request_batches DROP COLUMN bytes;
