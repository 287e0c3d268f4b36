-- +goose Up

-- Who has which role where. What belongs to a tenant, and to none of its
-- subscriptions, stands under "/tenants/{tenant}" in place of a subscription.
CREATE TABLE role_assignments (
    subscription TEXT   NOT NULL,
    scope        TEXT   NOT NULL,
    name         TEXT   NOT NULL,
    tenant       TEXT   NOT NULL,
    principal    TEXT   NOT NULL,
    role         TEXT   NOT NULL,
    scope_id     TEXT   NOT NULL,
    only_if      TEXT   NOT NULL,
    properties   TEXT   NOT NULL,
    generation   BYTEA  NOT NULL,
    etag         TEXT   NOT NULL,
    created      BIGINT NOT NULL,
    changed      BIGINT NOT NULL,
    PRIMARY KEY (subscription, scope, name)
);
CREATE INDEX role_assignments_by_name ON role_assignments (subscription, name);
CREATE INDEX role_assignments_by_principal ON role_assignments (subscription, principal, role);
CREATE INDEX role_assignments_in_tenant ON role_assignments (tenant, principal, subscription);
CREATE INDEX role_assignments_by_role ON role_assignments (tenant, role);

-- The roles that tenants have defined, each tenant as above.
CREATE TABLE role_definitions (
    subscription TEXT   NOT NULL,
    id           TEXT   NOT NULL,
    name         TEXT   NOT NULL,
    properties   TEXT   NOT NULL,
    generation   BYTEA  NOT NULL,
    etag         TEXT   NOT NULL,
    created      BIGINT NOT NULL,
    changed      BIGINT NOT NULL,
    PRIMARY KEY (subscription, id)
);
CREATE INDEX role_definitions_by_name ON role_definitions (subscription, name);

-- +goose Down
DROP TABLE role_definitions;
DROP TABLE role_assignments;
