// The tables that a Signal Desktop of a schema version (its user_version) has, as far as readers of the history look
// at them. This is a description of our own, in fewer tables and columns.
//
// STRING is what Signal declares, and is no type to SQLite: it gives NUMERIC affinity, by which "007" becomes 7.

/** Returns the statements that make an empty database of a version. */
export function schema(version) {
  const since = (from, ...lines) => (version >= from ? lines : []);
  const service = version >= 88 ? "sourceServiceId" : "sourceUuid";
  return [
    `CREATE TABLE items (id STRING PRIMARY KEY ASC, json TEXT)`,
    table("conversations", [
      "id STRING PRIMARY KEY ASC",
      "json TEXT",
      "active_at INTEGER",
      "type STRING",
      "members TEXT",
      "name TEXT",
      "profileName TEXT",
      "profileFamilyName TEXT",
      "e164 TEXT",
      `${version >= 88 ? "serviceId" : "uuid"} TEXT`,
      "groupId TEXT",
      ...since(9999, "futureOrder INTEGER", "futureName TEXT GENERATED ALWAYS AS (coalesce(name, profileName)) VIRTUAL"),
    ]),
    `CREATE INDEX conversations_active ON conversations (active_at) WHERE active_at IS NOT NULL`,
    `CREATE INDEX conversations_service ON conversations (${version >= 88 ? "serviceId" : "uuid"})`,
    table("messages", [
      "rowid INTEGER PRIMARY KEY ASC",
      "id STRING UNIQUE",
      "json TEXT",
      "readStatus INTEGER",
      "sent_at INTEGER",
      "conversationId STRING",
      "received_at INTEGER",
      ...since(9999, "futureFlags INTEGER NOT NULL DEFAULT 7"),
      "hasAttachments INTEGER",
      "hasFileAttachments INTEGER",
      "hasVisualMediaAttachments INTEGER",
      "expireTimer INTEGER",
      "type STRING",
      "body TEXT",
      "isErased INTEGER",
      "isViewOnce INTEGER",
      `${service} TEXT`,
      "storyId STRING",
      "isStory INTEGER GENERATED ALWAYS AS (type IS 'story') VIRTUAL",
      ...since(1270, "timestamp INTEGER", "received_at_ms INTEGER", "serverTimestamp INTEGER"),
      ...since(1270, "unidentifiedDeliveryReceived INTEGER", "source TEXT"),
      ...since(1500, `isSearchable INTEGER GENERATED ALWAYS AS (isViewOnce IS NOT 1 AND storyId IS NULL) VIRTUAL`),
      ...since(1500, `searchableText TEXT GENERATED ALWAYS AS (coalesce(${field("poll.question")}, body)) VIRTUAL`),
      ...since(1520, "hasUnreadPollVotes INTEGER"),
      ...since(1530, "hasExpireTimer INTEGER GENERATED ALWAYS AS (expireTimer > 0) VIRTUAL"),
      ...since(1540, `hasPreviews INTEGER GENERATED ALWAYS AS (${field("preview[0]")} IS NOT NULL) VIRTUAL`),
      ...since(1550, `hasContacts INTEGER GENERATED ALWAYS AS (${field("contact[0]")} IS NOT NULL) VIRTUAL`),
      ...since(9999, "futureText BLOB", `futureKind TEXT GENERATED ALWAYS AS (${field("future.kind")}) VIRTUAL`),
    ]),
    `CREATE INDEX messages_searchOrder ON messages (received_at, sent_at)`,
    `CREATE INDEX messages_conversation ON messages (conversationId, isStory, storyId, received_at, sent_at)`,
    `CREATE INDEX messages_conversation_no_story_id ON messages (conversationId, isStory, received_at, sent_at)`,
    `CREATE INDEX messages_service ON messages (${service})`,
    `CREATE INDEX messages_sent_at ON messages (sent_at)`,
    ...since(1540, `CREATE INDEX messages_previews ON messages (conversationId, received_at) WHERE hasPreviews`),
    table("reactions", [
      "conversationId STRING",
      "emoji STRING",
      "fromId STRING",
      "messageReceivedAt INTEGER",
      "messageId STRING",
      "targetTimestamp INTEGER",
      "timestamp INTEGER",
    ]),
    `CREATE INDEX reactions_message ON reactions (messageId)`,
    ...since(1360, attachments(version), `CREATE INDEX message_attachments_type ON message_attachments (attachmentType)`),
    ...since(1560, `CREATE TABLE pinnedMessages (id INTEGER PRIMARY KEY, messageId TEXT UNIQUE, pinnedAt INTEGER) STRICT`),
    ...since(9999, `CREATE TABLE futureThreads (id TEXT PRIMARY KEY, messageId TEXT, rank REAL) STRICT, WITHOUT ROWID`),
    ...search(version),
    `PRAGMA user_version = ${Number(version)}`,
  ];
}

const table = (name, columns) => `CREATE TABLE ${name} (${columns.join(", ")})`;

// field is one field of a message's json; NULL if there is none, or if that is no JSON.
const field = (path) => `CASE WHEN json_valid(json) THEN json ->> '$.${path}' END`;

const attachments = (version) =>
  table("message_attachments", [
    "messageId TEXT NOT NULL",
    "editHistoryIndex INTEGER NOT NULL",
    "attachmentType TEXT NOT NULL",
    "orderInMessage INTEGER NOT NULL",
    "conversationId TEXT NOT NULL",
    "sentAt INTEGER NOT NULL",
    "size INTEGER NOT NULL",
    "contentType TEXT NOT NULL",
    "path TEXT",
    "localKey TEXT",
    "caption TEXT",
    "fileName TEXT",
    "height INTEGER",
    "width INTEGER",
    "flags INTEGER",
    "pending INTEGER",
    "error INTEGER",
    "wasTooBig INTEGER",
    "isCorrupted INTEGER",
    ...(version >= 1450 ? ["messageType TEXT", "receivedAt INTEGER", "receivedAtMs INTEGER", "isViewOnce INTEGER"] : []),
    ...(version >= 1460 ? ["duration REAL"] : []),
    ...(version >= 1820 ? ["audioWaveform BLOB"] : []),
    ...(version >= 9999 ? ["futureHash BLOB"] : []),
    "PRIMARY KEY (messageId, editHistoryIndex, attachmentType, orderInMessage)",
  ]) + " STRICT";

/** Returns the statement that puts messages which are not there yet into the index of texts, if their rows are so. */
export function index(version, condition) {
  const [wanted, text] = version >= 1500 ? ["isSearchable", "searchableText"] : ["isViewOnce IS NOT 1 AND storyId IS NULL", "body"];
  return `INSERT INTO messages_fts (rowid, body) SELECT rowid, ${text} FROM messages WHERE ${wanted} AND ${condition}`;
}

// search is the index of texts, and the triggers that keep it up.
function search(version) {
  const tokenizer = version >= 77 ? `, tokenize = 'signal_tokenizer'` : "";
  const put = index(version, "rowid = new.rowid");
  const drop = `DELETE FROM messages_fts WHERE rowid = old.rowid`;
  return [
    `CREATE VIRTUAL TABLE messages_fts USING fts5 (body${tokenizer})`,
    `CREATE TRIGGER messages_on_insert AFTER INSERT ON messages BEGIN ${put}; END`,
    `CREATE TRIGGER messages_on_delete AFTER DELETE ON messages BEGIN ${drop}; END`,
    `CREATE TRIGGER messages_on_update AFTER UPDATE OF body, json, isViewOnce, storyId ON messages BEGIN ${drop}; ${put}; END`,
  ];
}
