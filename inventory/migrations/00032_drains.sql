-- +goose Up

-- Regions, and addresses of providers, that operators have taken out for maintenance until a time.
CREATE TABLE drains (
    subscription TEXT   NOT NULL,
    place        TEXT   NOT NULL,
    reason       TEXT   NOT NULL,
    ordered_by   TEXT   NOT NULL,
    since        BIGINT NOT NULL,
    until        BIGINT NOT NULL,
    PRIMARY KEY (subscription, place)
);
