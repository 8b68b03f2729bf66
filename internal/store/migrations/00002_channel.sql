-- +goose Up

ALTER TABLE sessions ADD COLUMN begun bigint NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN acks boolean NOT NULL DEFAULT FALSE;

-- What agents asked of people.
CREATE TABLE prompts (
	id      text PRIMARY KEY,
	rev     bigint NOT NULL,               -- hub.Prompt.Rev
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
-- The messages that such calls sent; the key is forgotten in time.
CREATE INDEX messages_call ON messages (ts) WHERE dedup >= 'call|' AND dedup < 'call}';

-- Webhooks.
CREATE TABLE hooks (
	name    text PRIMARY KEY,
	agent   text NOT NULL,
	preset  text NOT NULL,
	secret  text NOT NULL,                 -- empty: the shared token lets in
	only    text NOT NULL,                 -- events, a JSON list; empty list: all
	created bigint NOT NULL
);

-- What came with a key for once, such as a delivery's id: the message that
-- stands for all with that key.
CREATE TABLE seen (
	key     text PRIMARY KEY,
	message text NOT NULL,                 -- its id; it need not be in the record yet
	at      bigint NOT NULL
) WITHOUT ROWID;
CREATE INDEX seen_at ON seen (at);
