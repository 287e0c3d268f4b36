-- +goose Up

-- The call of a write is over, and its fate is unknown.
ALTER TABLE intents ADD COLUMN ended SMALLINT NOT NULL DEFAULT 0;

-- A write of unknown fate that a group was closed over. Nothing is made under its
-- key until it is known, or can no longer be applied.
CREATE TABLE fences (
    subscription TEXT     NOT NULL,
    key          TEXT     NOT NULL,
    id           BYTEA    NOT NULL,
    kind         SMALLINT NOT NULL,
    resource     TEXT     NOT NULL,
    grp          TEXT     NOT NULL,
    type         TEXT     NOT NULL,
    region       TEXT     NOT NULL,
    api_version  TEXT     NOT NULL,
    own          SMALLINT NOT NULL,
    accepted     SMALLINT NOT NULL,
    since        BIGINT   NOT NULL,
    until        BIGINT   NOT NULL,
    PRIMARY KEY (subscription, key, id)
);

-- +goose Down
DROP TABLE fences;
ALTER TABLE intents DROP COLUMN ended;
