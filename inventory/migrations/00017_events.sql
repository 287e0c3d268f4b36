-- +goose Up

-- What transactions have recorded of their changes, until it is numbered: a row for each
-- transaction and subscription, with n events. Of one resource the later change has the
-- later time. What is told of an event is encrypted.
CREATE TABLE unnumbered_events (
    subscription TEXT   NOT NULL,
    at           BIGINT NOT NULL,
    id           BYTEA  NOT NULL,
    n            BIGINT NOT NULL,
    recorded     BYTEA  NOT NULL,
    PRIMARY KEY (subscription, at, id)
);
CREATE INDEX unnumbered_events_by_time ON unnumbered_events (at);

-- What has been numbered. place is the number once more: by an index of numbers a server
-- may go through the events of others where it is asked for those of one subscription.
CREATE TABLE events (
    subscription TEXT   NOT NULL,
    number       BIGINT NOT NULL,
    place        BIGINT NOT NULL,
    id           BYTEA  NOT NULL,
    at           BIGINT NOT NULL,
    key          TEXT   NOT NULL,
    told         BYTEA  NOT NULL,
    PRIMARY KEY (subscription, number)
);
CREATE INDEX events_by_place ON events (place);
CREATE INDEX events_by_key ON events (subscription, key, number);

-- The number of the last event; of the first one behind which none is forgotten; one
-- before which none is kept; how many are kept; and which row of numbers it is: a
-- database that was restored begins another one, as it gives numbers again.
CREATE TABLE event_numbers (
    subscription TEXT   NOT NULL,
    last         BIGINT NOT NULL,
    first        BIGINT NOT NULL,
    oldest       BIGINT NOT NULL,
    kept         BIGINT NOT NULL,
    feed         BIGINT NOT NULL,
    PRIMARY KEY (subscription)
);
INSERT INTO event_numbers (subscription, last, first, oldest, kept, feed) VALUES ('', 0, 1, 1, 0, 0);

-- How many events of each subscription are kept.
CREATE TABLE event_counts (
    subscription TEXT   NOT NULL,
    kept         BIGINT NOT NULL,
    PRIMARY KEY (subscription)
);
CREATE INDEX event_counts_by_kept ON event_counts (kept);

-- +goose Down
DROP TABLE event_counts;
DROP TABLE event_numbers;
DROP TABLE events;
DROP TABLE unnumbered_events;
