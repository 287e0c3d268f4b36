-- +goose Up

-- What deployments sent last of resources, and what providers answered in the end, encrypted.
-- The group is the resource's, empty below a subscription. A version that does not know of
-- them leaves them, also where it deletes a resource: what stands at its ID then differs from
-- what was answered, as after any other change.
CREATE TABLE deployed (
    subscription TEXT   NOT NULL,
    grp          TEXT   NOT NULL,
    key          TEXT   NOT NULL,
    at           BIGINT NOT NULL,
    record       BYTEA  NOT NULL,
    PRIMARY KEY (subscription, key)
);
CREATE INDEX deployed_by_age ON deployed (subscription, grp, at);

-- +goose Down
DROP TABLE deployed;
