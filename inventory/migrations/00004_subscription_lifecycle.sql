-- +goose Up

-- What providers are told of a subscription. The version is raised by each
-- change of it, also of a registration; erased tells that nothing is left of
-- one that was deleted.
ALTER TABLE subscriptions ADD COLUMN offer TEXT NOT NULL DEFAULT '';
ALTER TABLE subscriptions ADD COLUMN placement TEXT NOT NULL DEFAULT '';
ALTER TABLE subscriptions ADD COLUMN features TEXT NOT NULL DEFAULT '';
ALTER TABLE subscriptions ADD COLUMN version BIGINT NOT NULL DEFAULT 0;
ALTER TABLE subscriptions ADD COLUMN erased SMALLINT NOT NULL DEFAULT 0;

-- The regions that a registration is for, separated by spaces; none: all.
ALTER TABLE registrations ADD COLUMN locations TEXT NOT NULL DEFAULT '';
ALTER TABLE registrations ADD COLUMN registered BIGINT NOT NULL DEFAULT 0;

-- The endpoints that have been told of a subscription, one per line.
CREATE TABLE announcements (
    subscription TEXT NOT NULL,
    endpoints    TEXT NOT NULL,
    PRIMARY KEY (subscription)
);

-- +goose Down
DROP TABLE announcements;
ALTER TABLE registrations DROP COLUMN registered;
ALTER TABLE registrations DROP COLUMN locations;
ALTER TABLE subscriptions DROP COLUMN erased;
ALTER TABLE subscriptions DROP COLUMN version;
ALTER TABLE subscriptions DROP COLUMN features;
ALTER TABLE subscriptions DROP COLUMN placement;
ALTER TABLE subscriptions DROP COLUMN offer;
