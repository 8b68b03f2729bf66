-- +goose Up

ALTER TABLE sessions ADD COLUMN begun bigint NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN acks boolean NOT NULL DEFAULT FALSE;

-- What agents asked of people.
CREATE TABLE prompts (
	id      text PRIMARY KEY,
	opened  bigint NOT NULL,
	pending boolean NOT NULL,              -- open, or somebody has yet to be told
	body    text NOT NULL                  -- hub.Prompt, JSON
);
CREATE INDEX prompts_pending ON prompts (opened) WHERE pending;
CREATE INDEX prompts_opened ON prompts (opened);

-- Tool calls that came with a key.
CREATE TABLE calls (
	key     text PRIMARY KEY,
	begun   bigint NOT NULL,
	outcome text NOT NULL                  -- empty: it has not ended
) WITHOUT ROWID;
CREATE INDEX calls_begun ON calls (begun);

-- Webhooks.
CREATE TABLE hooks (
	name    text PRIMARY KEY,
	agent   text NOT NULL,
	preset  text NOT NULL,
	secret  text NOT NULL,                 -- empty: the shared token lets in
	only    text NOT NULL,                 -- events, a JSON list; empty list: all
	created bigint NOT NULL
);
