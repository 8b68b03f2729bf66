-- +goose Up

-- Under the old name programs find what they know of the seed's database.
ALTER TABLE messages RENAME TO record;
DROP INDEX messages_dedup;
DROP INDEX messages_key;
DROP INDEX messages_waiting;
DROP INDEX messages_due;
DROP INDEX messages_live;
DROP INDEX messages_call;

-- What the log is filtered by. And from now on seq is the time ts, or as much
-- more as it takes to grow; by way of negative numbers, for none of the new
-- ones may be one of the old.
ALTER TABLE record ADD COLUMN via text NOT NULL DEFAULT '';
ALTER TABLE record ADD COLUMN source text NOT NULL DEFAULT '';
ALTER TABLE record ADD COLUMN target text NOT NULL DEFAULT '';
UPDATE record SET
	seq = -place,
	via = COALESCE(body ->> '$.via', ''),
	source = COALESCE(CASE body ->> '$.via' WHEN 'platform' THEN body ->> '$.from.ID' ELSE body ->> '$.agent' END, 'aldis'),
	target = COALESCE(CASE WHEN body ->> '$.via' = 'platform' THEN meant
		WHEN platform <> '' THEN body ->> '$.ref.Chat' ELSE body ->> '$.to' END, '')
	FROM (SELECT seq AS old, n + max(ts - n) OVER (ORDER BY n) AS place FROM
		(SELECT seq, ts, row_number() OVER (ORDER BY seq) AS n FROM record) AS numbered) AS places
	WHERE seq = old;
UPDATE record SET seq = -seq;

CREATE UNIQUE INDEX record_dedup ON record (dedup) WHERE dedup IS NOT NULL;
CREATE INDEX record_key ON record (platform, key) WHERE key IS NOT NULL;
CREATE INDEX record_waiting ON record (seq, waiting) WHERE waiting IS NOT NULL;
CREATE INDEX record_due ON record (seq) WHERE receipt = 2;
CREATE INDEX record_live ON record (ts) WHERE live;
CREATE INDEX record_call ON record (ts) WHERE dedup >= 'call|' AND dedup < 'call}';
-- Each of these is in the order of seq too.
CREATE INDEX record_source ON record (source);
CREATE INDEX record_target ON record (target);
CREATE INDEX record_pair ON record (source, target);
CREATE INDEX record_via ON record (via);

-- The table of seed agent-salon.md, in its own words.
CREATE VIEW messages AS SELECT
	id,
	strftime('%Y-%m-%dT%H:%M:%S', ts / 1000000, 'unixepoch') || printf('.%06dZ', ts % 1000000) AS ts,
	via,
	source,
	NULLIF(target, '') AS target,
	COALESCE(body ->> '$.text', '') AS content,
	COALESCE(body -> '$.meta', '{}') AS meta,
	(SELECT json_group_array(CASE agent WHEN '' THEN target ELSE agent END) FROM deliveries
		WHERE message = record.id AND state IN (2, 3) AND (agent <> '' OR target <> '')) AS delivered_to,
	(SELECT json_group_array(CASE agent WHEN '' THEN target ELSE agent END) FROM deliveries
		WHERE message = record.id AND state = 4 AND (agent <> '' OR target <> '')) AS delivery_errors,
	body ->> '$.addr' AS sender_addr,
	body ->> '$.session' AS sender_session_id
	FROM record;
