-- +goose Up

-- The outcomes of requests that each replica counted, by region (all: empty) and minute, for
-- a day; minute is its end. mean and p95 are microseconds.
CREATE TABLE replica_traffic (
    subscription TEXT   NOT NULL,
    region       TEXT   NOT NULL,
    minute       BIGINT NOT NULL,
    replica      TEXT   NOT NULL,
    requests     BIGINT NOT NULL,
    failures     BIGINT NOT NULL,
    refusals     BIGINT NOT NULL,
    in_flight    BIGINT NOT NULL,
    mean         BIGINT NOT NULL,
    p95          BIGINT NOT NULL,
    PRIMARY KEY (subscription, region, minute, replica)
);
CREATE INDEX replica_traffic_by_minute ON replica_traffic (subscription, minute);
