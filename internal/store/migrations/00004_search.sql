-- +goose Up

-- The words of what is kept of messages; rowid is record.seq.
CREATE VIRTUAL TABLE search USING fts5 (text, content = '', contentless_delete = 1, tokenize = 'unicode61');
-- The messages up to here are in it.
ALTER TABLE counter ADD COLUMN searched bigint NOT NULL DEFAULT 0;

-- +goose StatementBegin
CREATE TRIGGER record_deleted AFTER DELETE ON record WHEN old.seq <= (SELECT searched FROM counter) BEGIN
	DELETE FROM search WHERE rowid = old.seq;
END;
-- +goose StatementEnd
