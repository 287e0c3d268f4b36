-- +goose NO TRANSACTION
-- +goose Up

-- The assignments of one principal in the order in which they are listed, however many
-- others a subscription has.
CREATE INDEX role_assignments_of_principal ON role_assignments (subscription, principal, scope, name);

-- +goose Down
DROP INDEX role_assignments_of_principal;
