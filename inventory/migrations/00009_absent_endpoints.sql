-- +goose Up

-- Of a deleted subscription: the version by which its providers were told of
-- that when no write was open any more; 0: they were not yet.
ALTER TABLE subscriptions ADD COLUMN final BIGINT NOT NULL DEFAULT 0;

-- Endpoints that the region map lacks and that do not know the newest version of
-- a subscription. They are told when the map has their region again. A row
-- outlives the erasing of its subscription. Without an address: nobody knows it,
-- but a write may have gone there.
CREATE TABLE absent_endpoints (
    subscription TEXT NOT NULL,
    namespace    TEXT NOT NULL,
    region       TEXT NOT NULL,
    address      TEXT NOT NULL,
    PRIMARY KEY (subscription, namespace, region, address)
);
CREATE INDEX absent_endpoints_by_region ON absent_endpoints (namespace, region, subscription);

-- +goose Down
DROP TABLE absent_endpoints;
ALTER TABLE subscriptions DROP COLUMN final;
