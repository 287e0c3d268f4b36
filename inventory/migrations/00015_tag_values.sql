-- +goose Up

-- A digest of the tag's value. 0 where it is not known: in rows of an earlier version,
-- which may still write some on another replica, and where a resource has the tag more
-- than once, in several casings. Readers then look at every row of the tag.
ALTER TABLE resource_tags ADD COLUMN value BIGINT NOT NULL DEFAULT 0;
CREATE INDEX resource_tags_by_value ON resource_tags (subscription, tag, value, resource);

-- +goose Down
DROP INDEX resource_tags_by_value;
ALTER TABLE resource_tags DROP COLUMN value;
