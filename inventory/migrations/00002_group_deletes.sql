-- +goose Up

-- What the deletion of a group remembers of a resource that could not be
-- deleted at once; the resources themselves have rows, or are strays.
CREATE TABLE deletion_members (
    subscription TEXT  NOT NULL,
    job          BYTEA NOT NULL,
    member       TEXT  NOT NULL,
    payload      TEXT  NOT NULL,
    error        TEXT  NOT NULL,
    PRIMARY KEY (subscription, job, member)
);

-- Which types' resources were refused while others of another type stood.
CREATE TABLE deletion_order (
    subscription TEXT   NOT NULL,
    after_type   TEXT   NOT NULL,
    before_type  TEXT   NOT NULL,
    seen         BIGINT NOT NULL,
    PRIMARY KEY (subscription, after_type, before_type)
);

-- +goose Down
DROP TABLE deletion_order;
DROP TABLE deletion_members;
