-- +goose Up

-- The names that callers had in their tokens, encrypted, until a time after each was seen
-- last. The subscription is what stands for a tenant. A version that does not know of them
-- writes none.
CREATE TABLE caller_names (
    subscription TEXT   NOT NULL,
    principal    TEXT   NOT NULL,
    until        BIGINT NOT NULL,
    name         BYTEA  NOT NULL,
    PRIMARY KEY (subscription, principal)
);
CREATE INDEX caller_names_by_until ON caller_names (until);

-- +goose Down
DROP TABLE caller_names;
