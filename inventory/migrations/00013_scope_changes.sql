-- +goose Up

-- When a subscription, its groups or its registrations were last changed: what other
-- gateways remember of it is out of date then. The generation is new with each change.
CREATE TABLE scope_changes (
    subscription TEXT   NOT NULL,
    generation   BYTEA  NOT NULL,
    changed      BIGINT NOT NULL,
    PRIMARY KEY (subscription)
);
CREATE INDEX scope_changes_by_time ON scope_changes (changed);

-- +goose Down
DROP TABLE scope_changes;
