-- +goose Up

ALTER TABLE subscriptions ADD COLUMN tags TEXT NOT NULL DEFAULT '{}';

-- The names of tags that clients have defined ahead of their use. A row with a
-- value is one of the values defined for the name.
CREATE TABLE tag_names (
    subscription TEXT   NOT NULL,
    name         TEXT   NOT NULL,
    value        TEXT   NOT NULL,
    spelling     TEXT   NOT NULL,
    created      BIGINT NOT NULL,
    PRIMARY KEY (subscription, name, value)
);

-- Who may change the tags of a resource at its provider just now.
CREATE TABLE turns (
    subscription TEXT   NOT NULL,
    key          TEXT   NOT NULL,
    token        BYTEA  NOT NULL,
    until        BIGINT NOT NULL,
    PRIMARY KEY (subscription, key)
);

-- +goose Down
DROP TABLE turns;
DROP TABLE tag_names;
ALTER TABLE subscriptions DROP COLUMN tags;
