// Messages in any number, of words picked at random, though always the same ones.
import { index } from "./schema.mjs";

const batch = 10_000; // messages a transaction
const chats = 40; // the first has a sixth of all messages, the last few

/**
 * Puts messages into a database of a schema version that is open. The last comes at the time, in milliseconds, and with
 * the counter that are given, the others a minute and one before each other. Every 50,000th has the rare needle, every
 * third the common one.
 */
export function write(db, { version, count, time, counter, rare, common }) {
  db.pragma("synchronous = OFF");
  db.pragma("cache_size = -200000");
  const trigger = db.prepare("SELECT sql FROM sqlite_schema WHERE name = 'messages_on_insert'").get().sql;
  db.exec("DROP TRIGGER messages_on_insert"); // all texts at once take a third of the time
  const next = numbers(1830);
  const words = vocabulary(next);
  db.transaction(() => people(db, version, time))();
  const insert = inserts(db, version);
  for (let from = 0; from < count; from += batch) {
    db.transaction(() => {
      for (let i = from; i < Math.min(from + batch, count); i++) {
        const message = compose(next, words, i);
        if (i % 3 === 0) message.body += ` ${common}`;
        if (i % 50_000 === 7) message.body += ` ${rare}`;
        insert(message, time - (count - i) * 60_000, counter - (count - i));
      }
    })();
  }
  db.transaction(() => db.exec(index(version, "id LIKE 'random-%'")))();
  db.exec(trigger);
  db.pragma("cache_size = -2000");
  db.pragma("synchronous = FULL");
}

// numbers makes the function that returns random numbers below 2**32 (mulberry32), and below n if it is called with n.
function numbers(seed) {
  return (n = 0x100000000) => {
    seed = (seed + 0x6d2b79f5) | 0;
    let x = Math.imul(seed ^ (seed >>> 15), seed | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return Math.floor((((x ^ (x >>> 14)) >>> 0) / 0x100000000) * n);
  };
}

// vocabulary is 3,000 words in scripts of several kinds, of which the first are the most used.
function vocabulary(next) {
  const syllables = [
    ..."ba ce di fo gu ka le mi no pu ra se ti vo wu tion ing er st th".split(" "),
    ..."при вет мо ло ко да ёл ка".split(" "),
    ..."αλ φα βη τα ος".split(" "),
  ];
  const whole = ["今天", "天气很好", "日本語", "שלום", "مرحبا", "🎉", "👩‍👩‍👧", "cafe\u0301", "café", "100%", "snake_case", "don't", "C:\\temp"];
  const kinds = [[0, 20], [0, 20], [0, 20], [20, 28], [28, 33]];
  return Array.from({ length: 3_000 }, (_, i) => {
    if (i % 20 === 19) return whole[next(whole.length)];
    const [from, to] = kinds[next(kinds.length)];
    return Array.from({ length: 1 + next(4) }, () => syllables[from + next(to - from)]).join("");
  });
}

function compose(next, words, i) {
  const skewed = (n) => Math.floor(n * (next() / 0x100000000) ** 2);
  const length = next(200) === 0 ? 500 + next(500) : 1 + skewed(20); // a few are longer than a page
  const chat = skewed(chats);
  const author = next(3) === 0 ? null : service(chat);
  const json = { schemaVersion: 14, serverGuid: hex(next, 32), contentHash: hex(next, 128), contactLabel: hex(next, 256) };
  if (next(20) === 0) json.reactions = [{ emoji: "👍", fromId: id(chat), timestamp: 1_700_000_000_000 + i }];
  const text = Array.from({ length }, () => words[skewed(words.length)]).join(" ");
  return { id: `random-${i}`, chat: id(chat), author, body: text, json, file: next(20) === 0 };
}

const hex = (next, length) => Array.from({ length: length / 8 }, () => next().toString(16).padStart(8, "0")).join("");
const id = (chat) => `chat-${chat}`;
const service = (chat) => `c0000000-0000-4000-8000-${String(chat).padStart(12, "0")}`;

function people(db, version, time) {
  const insert = db.prepare(
    `INSERT INTO conversations (id, type, active_at, ${version >= 88 ? "serviceId" : "uuid"}, json) VALUES (?, 'private', ?, ?, ?)`,
  );
  for (let i = 0; i < chats; i++) {
    const json = { id: id(i), type: "private", serviceId: service(i), uuid: service(i), profileName: `Person ${i}`, profileKey: "x".repeat(700) };
    insert.run([id(i), time - i * 60_000, service(i), JSON.stringify(json)]);
  }
}

// inserts makes the function that puts in a message that came at a time, with a counter.
function inserts(db, version) {
  const [timed, files] = [version >= 1270, version >= 1360];
  const prepare = (table, columns) =>
    db.prepare(`INSERT INTO ${table} (${columns}) VALUES (${columns.split(",").map(() => "?")})`, { persistent: true });
  const message = prepare(
    "messages",
    `id, conversationId, type, ${version >= 88 ? "sourceServiceId" : "sourceUuid"}, body, sent_at, received_at, json, hasAttachments, ` +
      `isErased, isViewOnce, readStatus${timed ? ", received_at_ms, timestamp" : ""}`,
  );
  const kept = "messageId, editHistoryIndex, attachmentType, orderInMessage, conversationId, sentAt, size, contentType, fileName, path";
  const file = files && prepare("message_attachments", kept);
  return ({ id, chat, author, body, json, file: has }, time, counter) => {
    const sent = time - 1_500;
    const picture = { contentType: "image/jpeg", size: 54_321, fileName: "sea.jpg", path: "aa/bb" };
    if (has && !files) json.attachments = [picture];
    if (!timed) Object.assign(json, { body, received_at_ms: time });
    const row = [id, chat, author ? "incoming" : "outgoing", author, body, sent, counter, JSON.stringify(json), Number(has), 0, 0, 0];
    message.run(timed ? [...row, time, sent] : row);
    if (has && files) file.run([id, -1, "attachment", 0, chat, sent, ...["size", "contentType", "fileName", "path"].map((name) => picture[name])]);
  };
}
