-- Times are microseconds since 1970, UTC.

-- +goose Up

-- Sequence numbers up to reserved may have been given out.
CREATE TABLE counter (
	reserved bigint NOT NULL
);
INSERT INTO counter VALUES (0);

CREATE TABLE messages (
	seq      integer PRIMARY KEY,          -- order of acceptance
	id       text NOT NULL UNIQUE,
	ts       bigint NOT NULL,
	platform text NOT NULL,
	key      text,                         -- the platform's name; NULL: none, or in refs
	dedup    text,
	subject  text NOT NULL,
	waiting  bigint,                       -- for a decision, since then
	status   text NOT NULL,                -- of the decision
	meant    text NOT NULL,
	receipt  smallint NOT NULL,            -- 0 none, 1 wanted, 2 due, 3 sent
	live     boolean NOT NULL,             -- not yet cut to what is kept
	body     text NOT NULL                 -- hub.Message, JSON
);
CREATE UNIQUE INDEX messages_dedup ON messages (dedup) WHERE dedup IS NOT NULL;
CREATE INDEX messages_key ON messages (platform, key) WHERE key IS NOT NULL;
CREATE INDEX messages_waiting ON messages (seq, waiting) WHERE waiting IS NOT NULL;
CREATE INDEX messages_due ON messages (seq) WHERE receipt = 2;
CREATE INDEX messages_live ON messages (ts) WHERE live;

-- What the platform calls the parts of a message that was sent to it.
CREATE TABLE refs (
	platform text NOT NULL,
	key      text NOT NULL,
	chat     text NOT NULL,
	message  text NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
	PRIMARY KEY (platform, key, chat, message)
) WITHOUT ROWID;
CREATE INDEX refs_message ON refs (message);

-- What became of a message for one agent; agent '' is its platform, or, where
-- nobody ever was present, nobody.
CREATE TABLE deliveries (
	message text NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
	agent   text NOT NULL,
	seq     bigint NOT NULL,
	state   smallint NOT NULL,             -- hub.State
	reason  text NOT NULL,
	held    bigint,                        -- for an absent agent, since then
	open    boolean NOT NULL,              -- in the agent's inbox
	size    bigint NOT NULL,               -- bytes of the body
	changed bigint NOT NULL,
	PRIMARY KEY (message, agent)
) WITHOUT ROWID;
CREATE INDEX deliveries_open ON deliveries (agent, seq) WHERE open;
CREATE INDEX deliveries_held ON deliveries (agent, seq, size, held) WHERE held IS NOT NULL;

-- The numbers that a delivery had before it was offered again.
CREATE TABLE former (
	message text NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
	agent   text NOT NULL,
	seq     bigint NOT NULL,
	PRIMARY KEY (message, agent, seq)
) WITHOUT ROWID;
CREATE INDEX former_seq ON former (agent, seq);

-- Where persons wrote from.
CREATE TABLE chats (
	platform text NOT NULL,
	chat     text NOT NULL,
	PRIMARY KEY (platform, chat)
) WITHOUT ROWID;

CREATE TABLE sessions (
	id       text PRIMARY KEY,
	agent    text NOT NULL,
	named    boolean NOT NULL,
	seat     boolean NOT NULL,
	subject  text NOT NULL,
	client   text NOT NULL,
	version  text NOT NULL,
	birth    bigint NOT NULL,
	cursor   bigint NOT NULL,
	place    bigint NOT NULL,              -- hub.SavedSession.Order
	present  boolean NOT NULL,
	streamed boolean NOT NULL,
	refused  boolean NOT NULL,
	used     bigint NOT NULL
);
CREATE INDEX sessions_agent ON sessions (agent) WHERE named;

-- What a session was handed past its cursor.
CREATE TABLE handed (
	session text NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
	seq     bigint NOT NULL,
	PRIMARY KEY (session, seq)
) WITHOUT ROWID;

CREATE TABLE tokens (
	id      text PRIMARY KEY,
	agent   text NOT NULL,
	hash    blob NOT NULL UNIQUE,          -- SHA-256 of the token
	created bigint NOT NULL
);
