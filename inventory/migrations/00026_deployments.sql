-- +goose Up

-- Deployments of templates, by the folded name of their group, empty at the subscription.
-- What clients see of one, what its job needs and what its steps came to are encrypted; at
-- the end the content becomes the template, and the steps' rows become operations. A version that does not
-- know of them leaves them, also where it deletes their group: the next deployment there
-- replaces them.
CREATE TABLE deployments (
    subscription TEXT     NOT NULL,
    grp          TEXT     NOT NULL,
    name         TEXT     NOT NULL,
    job          BYTEA    NOT NULL,
    state        SMALLINT NOT NULL,
    began        BIGINT   NOT NULL,
    record       BYTEA    NOT NULL,
    content      BYTEA    NOT NULL,
    operations   BYTEA    NOT NULL,
    PRIMARY KEY (subscription, grp, name)
);
CREATE INDEX deployments_by_age ON deployments (subscription, grp, began);
CREATE INDEX deployments_by_state ON deployments (subscription, state);

CREATE TABLE deployment_steps (
    subscription TEXT     NOT NULL,
    grp          TEXT     NOT NULL,
    job          BYTEA    NOT NULL,
    step         BIGINT   NOT NULL,
    state        SMALLINT NOT NULL,
    record       BYTEA    NOT NULL,
    PRIMARY KEY (subscription, grp, job, step)
);

-- +goose Down
DROP TABLE deployment_steps;
DROP TABLE deployments;
