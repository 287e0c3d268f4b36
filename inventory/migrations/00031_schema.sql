-- One text for both engines: TEXT, BIGINT, SMALLINT and BYTEA only (SQLite keeps a blob in
-- a BYTEA column as it is). Every key begins with the subscription; what belongs to none
-- has an empty one. Keys, types and names that rows are found by are folded. Times are
-- microseconds since 1970, UTC. The numbers of states, phases and kinds are those of the
-- Go constants.

-- +goose Up

-- version is raised by each change that providers are notified of. final_version is the one
-- of a deleted subscription that they were notified of when no write was open any more; 0:
-- not yet. erased: nothing of a deleted subscription is left.
CREATE TABLE subscriptions (
    subscription  TEXT     NOT NULL,
    tenant        TEXT     NOT NULL,
    display_name  TEXT     NOT NULL,
    state         SMALLINT NOT NULL,
    offer         TEXT     NOT NULL,
    placement     TEXT     NOT NULL,
    features      TEXT     NOT NULL,
    tags          TEXT     NOT NULL,
    covered       SMALLINT NOT NULL,
    version       BIGINT   NOT NULL,
    final_version BIGINT   NOT NULL,
    erased        SMALLINT NOT NULL,
    created       BIGINT   NOT NULL,
    changed       BIGINT   NOT NULL,
    PRIMARY KEY (subscription)
);
CREATE INDEX subscriptions_by_tenant ON subscriptions (tenant, subscription);

-- When a subscription, its groups, its registrations or its roles were last changed: what
-- other gateways remember of them is out of date then. The generation is new each time.
CREATE TABLE scope_changes (
    subscription TEXT   NOT NULL,
    generation   BYTEA  NOT NULL,
    changed      BIGINT NOT NULL,
    PRIMARY KEY (subscription)
);
CREATE INDEX scope_changes_by_time ON scope_changes (changed);

-- locations are the regions that a registration is for, separated by spaces; empty: all.
CREATE TABLE registrations (
    subscription TEXT     NOT NULL,
    namespace    TEXT     NOT NULL,
    state        SMALLINT NOT NULL,
    etag         TEXT     NOT NULL,
    locations    TEXT     NOT NULL,
    registered   BIGINT   NOT NULL,
    changed      BIGINT   NOT NULL,
    PRIMARY KEY (subscription, namespace)
);

-- The endpoints that have been notified of a subscription, one per line.
CREATE TABLE notified_endpoints (
    subscription TEXT NOT NULL,
    endpoints    TEXT NOT NULL,
    PRIMARY KEY (subscription)
);

-- Endpoints that the region map lacks and that do not know the newest version of a
-- subscription. They are notified when the map has their region again. A row outlives the
-- erasing of its subscription. Without an address it is unknown, but a write may have gone
-- there.
CREATE TABLE absent_endpoints (
    subscription TEXT NOT NULL,
    namespace    TEXT NOT NULL,
    region       TEXT NOT NULL,
    address      TEXT NOT NULL,
    PRIMARY KEY (subscription, namespace, region, address)
);
CREATE INDEX absent_endpoints_by_region ON absent_endpoints (namespace, region, subscription);

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

-- following has a bit for each kind of write whose operation is followed. unreported are the
-- writes whose end no event has reported yet: who started each, and why its operation
-- failed; encrypted, and NULL for none, as of most rows.
CREATE TABLE resources (
    subscription       TEXT     NOT NULL,
    key                TEXT     NOT NULL,
    id                 TEXT     NOT NULL,
    resource_group     TEXT     NOT NULL,
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
    unreported         BYTEA,
    PRIMARY KEY (subscription, key)
);
CREATE INDEX resources_by_group ON resources (subscription, resource_group, key);
CREATE INDEX resources_by_type ON resources (subscription, type, key);
CREATE INDEX resources_by_region ON resources (subscription, type, region, resource_group);
CREATE INDEX resources_by_name ON resources (subscription, name_key, key);
CREATE INDEX resources_by_location ON resources (subscription, location, key);

-- The tags of each resource, by their folded names. value is a digest of the tag's value, 0
-- if the resource has the tag more than once, in several casings.
CREATE TABLE resource_tags (
    subscription TEXT   NOT NULL,
    tag          TEXT   NOT NULL,
    resource     TEXT   NOT NULL,
    value        BIGINT NOT NULL,
    PRIMARY KEY (subscription, tag, resource)
);
CREATE INDEX resource_tags_by_value ON resource_tags (subscription, tag, value, resource);

-- The names of tags that clients have defined ahead of their use. A row with a value is one
-- of the values defined for the name.
CREATE TABLE tag_names (
    subscription TEXT   NOT NULL,
    name         TEXT   NOT NULL,
    value        TEXT   NOT NULL,
    spelling     TEXT   NOT NULL,
    created      BIGINT NOT NULL,
    PRIMARY KEY (subscription, name, value)
);

-- A write that may be on its way. It ends by knowledge, or when the time in ends has passed:
-- not_after and the provider's late-write window. created_row: it created the resource's
-- row. overlapped: a write that opposes it was open at the same time. call_ended: its call
-- is over, and its outcome is unknown.
CREATE TABLE intents (
    subscription   TEXT     NOT NULL,
    key            TEXT     NOT NULL,
    id             BYTEA    NOT NULL,
    kind           SMALLINT NOT NULL,
    resource_group TEXT     NOT NULL,
    type           TEXT     NOT NULL,
    region         TEXT     NOT NULL,
    api_version    TEXT     NOT NULL,
    sender         TEXT     NOT NULL,
    generation     BYTEA    NOT NULL,
    created_row    SMALLINT NOT NULL,
    overlapped     SMALLINT NOT NULL,
    call_ended     SMALLINT NOT NULL,
    send_by        BIGINT   NOT NULL,
    not_after      BIGINT   NOT NULL,
    ends           BIGINT   NOT NULL,
    PRIMARY KEY (subscription, key, id)
);
CREATE INDEX intents_by_group ON intents (subscription, resource_group);
CREATE INDEX intents_by_end ON intents (ends);

-- A write of unknown outcome whose group was deleted. Nothing is created under its key until
-- the outcome is known, or the write can no longer be applied.
CREATE TABLE fences (
    subscription   TEXT     NOT NULL,
    key            TEXT     NOT NULL,
    id             BYTEA    NOT NULL,
    kind           SMALLINT NOT NULL,
    resource       TEXT     NOT NULL,
    resource_group TEXT     NOT NULL,
    type           TEXT     NOT NULL,
    region         TEXT     NOT NULL,
    api_version    TEXT     NOT NULL,
    own            SMALLINT NOT NULL,
    accepted       SMALLINT NOT NULL,
    since          BIGINT   NOT NULL,
    until          BIGINT   NOT NULL,
    PRIMARY KEY (subscription, key, id)
);

-- How much of a quota is used; the row with neither group nor type counts the
-- subscription's groups.
CREATE TABLE usage (
    subscription   TEXT   NOT NULL,
    resource_group TEXT   NOT NULL,
    type           TEXT   NOT NULL,
    used           BIGINT NOT NULL,
    PRIMARY KEY (subscription, resource_group, type)
);

-- The types and regions that an incarnation of a group ever sent a write to.
CREATE TABLE written_regions (
    subscription   TEXT  NOT NULL,
    resource_group TEXT  NOT NULL,
    incarnation    BYTEA NOT NULL,
    type           TEXT  NOT NULL,
    region         TEXT  NOT NULL,
    PRIMARY KEY (subscription, resource_group, incarnation, type, region)
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
    subscription   TEXT   NOT NULL,
    region         TEXT   NOT NULL,
    key            TEXT   NOT NULL,
    id             TEXT   NOT NULL,
    resource_group TEXT   NOT NULL,
    type           TEXT   NOT NULL,
    seen           BIGINT NOT NULL,
    PRIMARY KEY (subscription, region, key)
);
CREATE INDEX strays_by_group ON strays (subscription, resource_group);

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

-- Who has which role where. What belongs to a tenant, and to none of its subscriptions,
-- stands under "/tenants/{tenant}" in place of a subscription.
CREATE TABLE role_assignments (
    subscription TEXT   NOT NULL,
    scope        TEXT   NOT NULL,
    name         TEXT   NOT NULL,
    tenant       TEXT   NOT NULL,
    principal    TEXT   NOT NULL,
    role         TEXT   NOT NULL,
    scope_id     TEXT   NOT NULL,
    condition    TEXT   NOT NULL,
    properties   TEXT   NOT NULL,
    generation   BYTEA  NOT NULL,
    etag         TEXT   NOT NULL,
    created      BIGINT NOT NULL,
    changed      BIGINT NOT NULL,
    PRIMARY KEY (subscription, scope, name)
);
CREATE INDEX role_assignments_by_name ON role_assignments (subscription, name);
CREATE INDEX role_assignments_in_tenant ON role_assignments (tenant, principal, subscription);
CREATE INDEX role_assignments_by_role ON role_assignments (tenant, role);
-- In the order in which the assignments of a principal are listed.
CREATE INDEX role_assignments_by_principal ON role_assignments (subscription, principal, scope, name);

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

-- Polling URLs. identity names the operation that a URL is of, however the URL is spelled. A
-- substitute is a URL of Portico's own in place of one that clients cannot be given: it
-- stands for target. status_target, unless empty, is where the status is polled of which
-- the result at such a URL is made.
CREATE TABLE operations (
    subscription  TEXT     NOT NULL,
    token         TEXT     NOT NULL,
    resource      TEXT     NOT NULL,
    method        TEXT     NOT NULL,
    namespace     TEXT     NOT NULL,
    type          TEXT     NOT NULL,
    region        TEXT     NOT NULL,
    api_version   TEXT     NOT NULL,
    tenant        TEXT     NOT NULL,
    object        TEXT     NOT NULL,
    follow        BYTEA    NOT NULL,
    origin        TEXT     NOT NULL,
    target        TEXT     NOT NULL,
    substitute    SMALLINT NOT NULL,
    identity      TEXT     NOT NULL,
    status_target TEXT     NOT NULL,
    created       BIGINT   NOT NULL,
    until         BIGINT   NOT NULL,
    PRIMARY KEY (subscription, token)
);
CREATE INDEX operations_by_end ON operations (until);
CREATE INDEX operations_by_caller ON operations (subscription, tenant, object, until);
CREATE INDEX operations_by_identity ON operations (subscription, identity, tenant, object);

-- What has ended lies in the shard -1, due when it is to be forgotten, and all else in 0.
-- Claims take the jobs of a kind region by region, so that a region which does not answer
-- leaves room for the others; it is empty for work that no single region holds up. trace is
-- the span that created the job, in the form of traceparent, empty if it was not sampled.
-- history has the last steps, the newest first, a line of JSON each.
CREATE TABLE jobs (
    subscription TEXT     NOT NULL,
    id           BYTEA    NOT NULL,
    kind         TEXT     NOT NULL,
    subject      TEXT     NOT NULL,
    region       TEXT     NOT NULL,
    incarnation  BYTEA    NOT NULL,
    state        SMALLINT NOT NULL,
    shard        SMALLINT NOT NULL,
    due          BIGINT   NOT NULL,
    owner        TEXT     NOT NULL,
    token        BIGINT   NOT NULL,
    until        BIGINT   NOT NULL,
    attempts     BIGINT   NOT NULL,
    payload      TEXT     NOT NULL,
    trace        TEXT     NOT NULL,
    history      TEXT     NOT NULL,
    created      BIGINT   NOT NULL,
    changed      BIGINT   NOT NULL,
    PRIMARY KEY (subscription, id)
);
CREATE INDEX jobs_by_due ON jobs (shard, kind, due);
CREATE INDEX jobs_by_region ON jobs (shard, kind, region, due);

-- Who alone may change a resource at its provider until a time; and which replicas are
-- alive, under names that no resource has.
CREATE TABLE leases (
    subscription TEXT   NOT NULL,
    key          TEXT   NOT NULL,
    token        BYTEA  NOT NULL,
    until        BIGINT NOT NULL,
    PRIMARY KEY (subscription, key)
);

-- What the deletion of a group remembers of a resource that could not be deleted at once;
-- the resources themselves have rows, or are strays.
CREATE TABLE deletion_members (
    subscription TEXT  NOT NULL,
    job          BYTEA NOT NULL,
    member       TEXT  NOT NULL,
    payload      TEXT  NOT NULL,
    error        TEXT  NOT NULL,
    PRIMARY KEY (subscription, job, member)
);

-- Resources of the type after_type could not be deleted while some of before_type existed.
CREATE TABLE deletion_order (
    subscription TEXT   NOT NULL,
    after_type   TEXT   NOT NULL,
    before_type  TEXT   NOT NULL,
    seen         BIGINT NOT NULL,
    PRIMARY KEY (subscription, after_type, before_type)
);

-- Many requests of one client that are sent after it was answered. content is encrypted, and
-- empty at the end. bytes are counted for the caller. token is that of the operation, which
-- ends with the batch.
CREATE TABLE request_batches (
    subscription TEXT   NOT NULL,
    job          BYTEA  NOT NULL,
    caller       TEXT   NOT NULL,
    content      BYTEA  NOT NULL,
    bytes        BIGINT NOT NULL,
    token        TEXT   NOT NULL,
    ended        BIGINT NOT NULL,
    until        BIGINT NOT NULL,
    PRIMARY KEY (subscription, job)
);
CREATE INDEX request_batches_by_caller ON request_batches (subscription, caller, ended);
CREATE INDEX request_batches_by_end ON request_batches (until);

-- The requests of a batch that may have been sent. answer is encrypted.
CREATE TABLE request_parts (
    subscription TEXT   NOT NULL,
    job          BYTEA  NOT NULL,
    part         BIGINT NOT NULL,
    started      BIGINT NOT NULL,
    ended        BIGINT NOT NULL,
    size         BIGINT NOT NULL,
    answer       BYTEA  NOT NULL,
    PRIMARY KEY (subscription, job, part)
);

-- Deployments of templates; the group is empty at the subscription. record is what clients
-- see of one, content what its job needs, operations what its steps came to; all are
-- encrypted. At the end the content becomes the template, and the steps' rows become
-- operations. caller is a key of who began the deployment, and so those nested in it, by
-- which a caller's deployments under way are counted.
CREATE TABLE deployments (
    subscription   TEXT     NOT NULL,
    resource_group TEXT     NOT NULL,
    name           TEXT     NOT NULL,
    job            BYTEA    NOT NULL,
    state          SMALLINT NOT NULL,
    began          BIGINT   NOT NULL,
    record         BYTEA    NOT NULL,
    content        BYTEA    NOT NULL,
    operations     BYTEA    NOT NULL,
    caller         TEXT     NOT NULL,
    PRIMARY KEY (subscription, resource_group, name)
);
CREATE INDEX deployments_by_age ON deployments (subscription, resource_group, began);
CREATE INDEX deployments_by_state ON deployments (subscription, state);
-- Nested deployments end with the job that runs them, in whichever subscription they lie.
CREATE INDEX deployments_by_job ON deployments (job);

CREATE TABLE deployment_steps (
    subscription   TEXT     NOT NULL,
    resource_group TEXT     NOT NULL,
    job            BYTEA    NOT NULL,
    step           BIGINT   NOT NULL,
    state          SMALLINT NOT NULL,
    record         BYTEA    NOT NULL,
    PRIMARY KEY (subscription, resource_group, job, step)
);

-- What deployments sent last of resources, and what providers answered in the end,
-- encrypted. The group is the resource's, empty below a subscription.
CREATE TABLE deployed (
    subscription   TEXT   NOT NULL,
    resource_group TEXT   NOT NULL,
    key            TEXT   NOT NULL,
    at             BIGINT NOT NULL,
    record         BYTEA  NOT NULL,
    PRIMARY KEY (subscription, key)
);
CREATE INDEX deployed_by_age ON deployed (subscription, resource_group, at);

-- What transactions have recorded of their changes, until it is numbered: a row for each
-- transaction and subscription, with count events, encrypted. Of one resource the later
-- change has the later time.
CREATE TABLE unnumbered_events (
    subscription TEXT   NOT NULL,
    at           BIGINT NOT NULL,
    id           BYTEA  NOT NULL,
    count        BIGINT NOT NULL,
    recorded     BYTEA  NOT NULL,
    PRIMARY KEY (subscription, at, id)
);
CREATE INDEX unnumbered_events_by_time ON unnumbered_events (at);

-- What has been numbered. place is the number once more: by an index of numbers a server may
-- go through the events of others if it is asked for those of one subscription. payload is
-- encrypted.
CREATE TABLE events (
    subscription TEXT   NOT NULL,
    number       BIGINT NOT NULL,
    place        BIGINT NOT NULL,
    id           BYTEA  NOT NULL,
    at           BIGINT NOT NULL,
    key          TEXT   NOT NULL,
    payload      BYTEA  NOT NULL,
    PRIMARY KEY (subscription, number)
);
CREATE INDEX events_by_place ON events (place);
CREATE INDEX events_by_key ON events (subscription, key, number);

-- The number of the last event; of the first one behind which none is forgotten; one before
-- which none is kept; how many are kept; and which row of numbers it is: a database that was
-- restored begins another one, as it gives numbers again.
CREATE TABLE event_numbers (
    subscription TEXT   NOT NULL,
    last         BIGINT NOT NULL,
    first        BIGINT NOT NULL,
    oldest       BIGINT NOT NULL,
    kept         BIGINT NOT NULL,
    feed         BIGINT NOT NULL,
    PRIMARY KEY (subscription)
);
INSERT INTO event_numbers (subscription, last, first, oldest, kept, feed) VALUES ('', 0, 1, 1, 0, 0);

-- How many events of each subscription are kept.
CREATE TABLE event_counts (
    subscription TEXT   NOT NULL,
    kept         BIGINT NOT NULL,
    PRIMARY KEY (subscription)
);
CREATE INDEX event_counts_by_kept ON event_counts (kept);

-- Events that a sink has not taken: those that are tried again, and those that were given
-- up. All others of a sink lie behind the number in its job. reason is why an operator gave
-- an event up, empty if the delivery did by itself.
CREATE TABLE sink_events (
    subscription TEXT     NOT NULL,
    sink         TEXT     NOT NULL,
    number       BIGINT   NOT NULL,
    key          TEXT     NOT NULL,
    state        SMALLINT NOT NULL,
    attempts     BIGINT   NOT NULL,
    since        BIGINT   NOT NULL,
    due          BIGINT   NOT NULL,
    status       BIGINT   NOT NULL,
    failure      TEXT     NOT NULL,
    reason       TEXT     NOT NULL,
    changed      BIGINT   NOT NULL,
    PRIMARY KEY (subscription, sink, number)
);
CREATE INDEX sink_events_by_state ON sink_events (sink, state, number);

-- What operators have ordered of an event that a sink has not taken, for the holder of the
-- sink's job: it takes the step and answers, and whoever ordered removes the row. The
-- subscription is that of the job, which belongs to none.
CREATE TABLE sink_orders (
    subscription TEXT     NOT NULL,
    sink         TEXT     NOT NULL,
    id           BYTEA    NOT NULL,
    number       BIGINT   NOT NULL,
    step         SMALLINT NOT NULL,
    reason       TEXT     NOT NULL,
    ordered      BIGINT   NOT NULL,
    answer       TEXT     NOT NULL,
    behind       BIGINT   NOT NULL,
    PRIMARY KEY (subscription, sink, id)
);

-- The errors that each replica answered with of late, in groups, encrypted: they name
-- callers.
CREATE TABLE replica_errors (
    subscription TEXT   NOT NULL,
    replica      TEXT   NOT NULL,
    written      BIGINT NOT NULL,
    groups       BYTEA  NOT NULL,
    PRIMARY KEY (subscription, replica)
);

-- The names that callers had in their tokens, encrypted, until a time after each was last
-- seen. The subscription is what stands for a tenant.
CREATE TABLE caller_names (
    subscription TEXT   NOT NULL,
    principal    TEXT   NOT NULL,
    until        BIGINT NOT NULL,
    name         BYTEA  NOT NULL,
    PRIMARY KEY (subscription, principal)
);
CREATE INDEX caller_names_by_until ON caller_names (until);

-- Random keys that all who share the store share.
CREATE TABLE secrets (
    subscription TEXT   NOT NULL,
    name         TEXT   NOT NULL,
    secret       BYTEA  NOT NULL,
    created      BIGINT NOT NULL,
    PRIMARY KEY (subscription, name)
);
