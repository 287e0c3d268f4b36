-- +goose Up

-- Events that a sink has not taken: those that are tried again, and those that were given
-- up. All others of a sink lie behind the number in its job.
CREATE TABLE sink_events (
    subscription TEXT     NOT NULL,
    sink         TEXT     NOT NULL,
    number       BIGINT   NOT NULL,
    key          TEXT     NOT NULL,
    state        SMALLINT NOT NULL,
    attempts     BIGINT   NOT NULL,
    since        BIGINT   NOT NULL,
    due          BIGINT   NOT NULL,
    status       BIGINT   NOT NULL,
    failure      TEXT     NOT NULL,
    changed      BIGINT   NOT NULL,
    PRIMARY KEY (subscription, sink, number)
);
CREATE INDEX sink_events_by_state ON sink_events (sink, state, number);

-- +goose Down
DROP TABLE sink_events;
