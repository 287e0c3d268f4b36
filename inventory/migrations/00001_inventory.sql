-- One text for every engine: TEXT, BIGINT, SMALLINT and BYTEA only (SQLite
-- keeps a blob in a BYTEA column as it is). Every key leads with the
-- subscription. Times are microseconds since 1970, UTC.

-- +goose Up
CREATE TABLE subscriptions (
    subscription TEXT     NOT NULL,
    tenant       TEXT     NOT NULL,
    display_name TEXT     NOT NULL,
    state        SMALLINT NOT NULL,
    covered      SMALLINT NOT NULL,
    created      BIGINT   NOT NULL,
    changed      BIGINT   NOT NULL,
    PRIMARY KEY (subscription)
);
CREATE INDEX subscriptions_by_tenant ON subscriptions (tenant, subscription);

CREATE TABLE resource_groups (
    subscription TEXT     NOT NULL,
    key          TEXT     NOT NULL,
    name         TEXT     NOT NULL,
    location     TEXT     NOT NULL,
    managed_by   TEXT     NOT NULL,
    tags         TEXT     NOT NULL,
    state        SMALLINT NOT NULL,
    incarnation  BYTEA    NOT NULL,
    generation   BYTEA    NOT NULL,
    etag         TEXT     NOT NULL,
    created      BIGINT   NOT NULL,
    changed      BIGINT   NOT NULL,
    PRIMARY KEY (subscription, key)
);

CREATE TABLE registrations (
    subscription TEXT     NOT NULL,
    namespace    TEXT     NOT NULL,
    state        SMALLINT NOT NULL,
    etag         TEXT     NOT NULL,
    changed      BIGINT   NOT NULL,
    PRIMARY KEY (subscription, namespace)
);

CREATE TABLE resources (
    subscription       TEXT     NOT NULL,
    key                TEXT     NOT NULL,
    id                 TEXT     NOT NULL,
    grp                TEXT     NOT NULL,
    type               TEXT     NOT NULL,
    type_name          TEXT     NOT NULL,
    name               TEXT     NOT NULL,
    name_key           TEXT     NOT NULL,
    parent             TEXT     NOT NULL,
    region             TEXT     NOT NULL,
    location           TEXT     NOT NULL,
    phase              SMALLINT NOT NULL,
    verify             SMALLINT NOT NULL,
    following          SMALLINT NOT NULL,
    generation         BYTEA    NOT NULL,
    provisioning_state TEXT     NOT NULL,
    api_version        TEXT     NOT NULL,
    details            TEXT     NOT NULL,
    creator            TEXT     NOT NULL,
    creator_kind       TEXT     NOT NULL,
    created            BIGINT   NOT NULL,
    changed            BIGINT   NOT NULL,
    PRIMARY KEY (subscription, key)
);
CREATE INDEX resources_by_group ON resources (subscription, grp, key);
CREATE INDEX resources_by_type ON resources (subscription, type, key);
CREATE INDEX resources_by_region ON resources (subscription, type, region, grp);
CREATE INDEX resources_by_name ON resources (subscription, name_key, key);
CREATE INDEX resources_by_location ON resources (subscription, location, key);

-- The folded names of the tags of each resource.
CREATE TABLE resource_tags (
    subscription TEXT NOT NULL,
    tag          TEXT NOT NULL,
    resource     TEXT NOT NULL,
    PRIMARY KEY (subscription, tag, resource)
);

-- A write that may be on its way. It ends by knowledge, or when the time in
-- ends has passed (not_after and the provider's late-write window).
CREATE TABLE intents (
    subscription TEXT     NOT NULL,
    key          TEXT     NOT NULL,
    id           BYTEA    NOT NULL,
    kind         SMALLINT NOT NULL,
    grp          TEXT     NOT NULL,
    type         TEXT     NOT NULL,
    region       TEXT     NOT NULL,
    api_version  TEXT     NOT NULL,
    sender       TEXT     NOT NULL,
    generation   BYTEA    NOT NULL,
    made         SMALLINT NOT NULL,
    spoiled      SMALLINT NOT NULL,
    send_by      BIGINT   NOT NULL,
    not_after    BIGINT   NOT NULL,
    ends         BIGINT   NOT NULL,
    PRIMARY KEY (subscription, key, id)
);
CREATE INDEX intents_by_group ON intents (subscription, grp);
CREATE INDEX intents_by_end ON intents (ends);

-- How many rows count against a quota; the row with neither group nor type
-- counts the subscription's groups.
CREATE TABLE usage (
    subscription TEXT   NOT NULL,
    grp          TEXT   NOT NULL,
    type         TEXT   NOT NULL,
    n            BIGINT NOT NULL,
    PRIMARY KEY (subscription, grp, type)
);

-- Where this incarnation of a group ever sent a write to.
CREATE TABLE touched (
    subscription TEXT  NOT NULL,
    grp          TEXT  NOT NULL,
    incarnation  BYTEA NOT NULL,
    type         TEXT  NOT NULL,
    region       TEXT  NOT NULL,
    PRIMARY KEY (subscription, grp, incarnation, type, region)
);

CREATE TABLE tombstones (
    subscription TEXT   NOT NULL,
    key          TEXT   NOT NULL,
    region       TEXT   NOT NULL,
    at           BIGINT NOT NULL,
    PRIMARY KEY (subscription, key)
);
CREATE INDEX tombstones_by_time ON tombstones (at);

CREATE TABLE coverage (
    subscription TEXT   NOT NULL,
    type         TEXT   NOT NULL,
    region       TEXT   NOT NULL,
    swept        BIGINT NOT NULL,
    PRIMARY KEY (subscription, type, region)
);

CREATE TABLE strays (
    subscription TEXT   NOT NULL,
    region       TEXT   NOT NULL,
    key          TEXT   NOT NULL,
    id           TEXT   NOT NULL,
    grp          TEXT   NOT NULL,
    type         TEXT   NOT NULL,
    seen         BIGINT NOT NULL,
    PRIMARY KEY (subscription, region, key)
);
CREATE INDEX strays_by_group ON strays (subscription, grp);

CREATE TABLE locks (
    subscription TEXT     NOT NULL,
    scope        TEXT     NOT NULL,
    name         TEXT     NOT NULL,
    level        SMALLINT NOT NULL,
    properties   TEXT     NOT NULL,
    generation   BYTEA    NOT NULL,
    etag         TEXT     NOT NULL,
    created      BIGINT   NOT NULL,
    changed      BIGINT   NOT NULL,
    PRIMARY KEY (subscription, scope, name)
);

CREATE TABLE operations (
    subscription TEXT   NOT NULL,
    token        TEXT   NOT NULL,
    resource     TEXT   NOT NULL,
    method       TEXT   NOT NULL,
    namespace    TEXT   NOT NULL,
    type         TEXT   NOT NULL,
    region       TEXT   NOT NULL,
    api_version  TEXT   NOT NULL,
    tenant       TEXT   NOT NULL,
    object       TEXT   NOT NULL,
    follow       BYTEA  NOT NULL,
    created      BIGINT NOT NULL,
    until        BIGINT NOT NULL,
    PRIMARY KEY (subscription, token)
);
CREATE INDEX operations_by_end ON operations (until);

-- Jobs that are due are looked for shard by shard; what has ended lies in the
-- shard -1, due when it is to be forgotten.
CREATE TABLE jobs (
    subscription TEXT     NOT NULL,
    id           BYTEA    NOT NULL,
    kind         TEXT     NOT NULL,
    subject      TEXT     NOT NULL,
    incarnation  BYTEA    NOT NULL,
    state        SMALLINT NOT NULL,
    shard        SMALLINT NOT NULL,
    due          BIGINT   NOT NULL,
    owner        TEXT     NOT NULL,
    token        BIGINT   NOT NULL,
    until        BIGINT   NOT NULL,
    attempts     BIGINT   NOT NULL,
    payload      TEXT     NOT NULL,
    created      BIGINT   NOT NULL,
    changed      BIGINT   NOT NULL,
    PRIMARY KEY (subscription, id)
);
CREATE INDEX jobs_by_due ON jobs (shard, kind, due);

-- Random keys that those who share the store share. They belong to no
-- subscription: it is empty.
CREATE TABLE secrets (
    subscription TEXT   NOT NULL,
    name         TEXT   NOT NULL,
    secret       BYTEA  NOT NULL,
    created      BIGINT NOT NULL,
    PRIMARY KEY (subscription, name)
);

-- +goose Down
DROP TABLE secrets;
DROP TABLE jobs;
DROP TABLE operations;
DROP TABLE locks;
DROP TABLE strays;
DROP TABLE coverage;
DROP TABLE tombstones;
DROP TABLE touched;
DROP TABLE usage;
DROP TABLE intents;
DROP TABLE resource_tags;
DROP TABLE resources;
DROP TABLE registrations;
DROP TABLE resource_groups;
DROP TABLE subscriptions;
