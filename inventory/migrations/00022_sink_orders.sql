-- +goose Up

-- What operators have ordered of an event that a sink has not taken, for whoever holds the
-- sink's job: it takes the step and answers, and whoever ordered removes the row. The
-- subscription is that of the job, which belongs to none. A version that does not know of
-- orders leaves them without an answer.
CREATE TABLE sink_orders (
    subscription TEXT     NOT NULL,
    sink         TEXT     NOT NULL,
    id           BYTEA    NOT NULL,
    number       BIGINT   NOT NULL,
    step         SMALLINT NOT NULL,
    reason       TEXT     NOT NULL,
    ordered      BIGINT   NOT NULL,
    answer       TEXT     NOT NULL,
    behind       BIGINT   NOT NULL,
    PRIMARY KEY (subscription, sink, id)
);

-- Why an operator gave an event up; empty where the delivery did by itself.
ALTER TABLE sink_events ADD COLUMN reason TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE sink_events DROP COLUMN reason;
DROP TABLE sink_orders;
