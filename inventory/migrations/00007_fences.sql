-- +goose Up
ALTER TABLE intents ADD COLUMN ended SMALLINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE intents DROP COLUMN ended;
