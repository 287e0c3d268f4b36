-- +goose Up

-- The errors that each replica answered with of late, in groups, encrypted: they name
-- callers. They belong to no subscription. A version that does not know of them shows its
-- own alone.
CREATE TABLE replica_errors (
    subscription TEXT   NOT NULL,
    replica      TEXT   NOT NULL,
    written      BIGINT NOT NULL,
    groups       BYTEA  NOT NULL,
    PRIMARY KEY (subscription, replica)
);

-- +goose Down
DROP TABLE replica_errors;
