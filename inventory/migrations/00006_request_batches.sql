-- +goose Up

-- Many requests of one client that are carried after it was answered. What is
-- in them, and in what answers them, is sealed; content goes at the end.
CREATE TABLE request_batches (
    subscription TEXT   NOT NULL,
    job          BYTEA  NOT NULL,
    caller       TEXT   NOT NULL,
    content      BYTEA  NOT NULL,
    ended        BIGINT NOT NULL,
    until        BIGINT NOT NULL,
    PRIMARY KEY (subscription, job)
);
CREATE INDEX request_batches_by_caller ON request_batches (subscription, caller, ended);
CREATE INDEX request_batches_by_end ON request_batches (until);

CREATE TABLE request_parts (
    subscription TEXT   NOT NULL,
    job          BYTEA  NOT NULL,
    part         BIGINT NOT NULL,
    begun        BIGINT NOT NULL,
    ended        BIGINT NOT NULL,
    size         BIGINT NOT NULL,
    answer       BYTEA  NOT NULL,
    PRIMARY KEY (subscription, job, part)
);

-- +goose Down
DROP TABLE request_parts;
DROP TABLE request_batches;
