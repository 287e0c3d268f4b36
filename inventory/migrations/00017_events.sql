-- +goose Up

-- What has changed, as it was recorded with the change, until it is numbered. What is
-- told of it is encrypted.
CREATE TABLE unnumbered_events (
    subscription TEXT   NOT NULL,
    id           BYTEA  NOT NULL,
    at           BIGINT NOT NULL,
    key          TEXT   NOT NULL,
    told         BYTEA  NOT NULL,
    PRIMARY KEY (subscription, id)
);
CREATE INDEX unnumbered_events_by_time ON unnumbered_events (at);

CREATE TABLE events (
    subscription TEXT   NOT NULL,
    number       BIGINT NOT NULL,
    id           BYTEA  NOT NULL,
    at           BIGINT NOT NULL,
    key          TEXT   NOT NULL,
    told         BYTEA  NOT NULL,
    PRIMARY KEY (subscription, number)
);
CREATE INDEX events_by_number ON events (number);
CREATE INDEX events_by_key ON events (subscription, key, number);

-- The number of the last event, and of the first one that is still kept.
CREATE TABLE event_numbers (
    subscription TEXT   NOT NULL,
    last         BIGINT NOT NULL,
    first        BIGINT NOT NULL,
    PRIMARY KEY (subscription)
);
INSERT INTO event_numbers (subscription, last, first) VALUES ('', 0, 1);

-- +goose Down
DROP TABLE event_numbers;
DROP TABLE events;
DROP TABLE unnumbered_events;
