// Writes databases as Signal Desktop has them, with the library that it has: node writer.mjs
//
// That library is under the AGPL: it is fetched for tests, and never part of what is built.
//
// Each line of its input is a command in JSON, {"do": ..., ...}, and is answered by one line, {"ok": ...} or
// {"error": "..."}, before the next is looked at. It ends with its input, and leaves the database as it then is.
// Integers are {"int": "..."} in arguments, since this library takes a number for a REAL; bytes are {"blob": base64}.
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { createInterface } from "node:readline";
import Database from "@signalapp/sqlcipher";
import { dump } from "./dump.mjs";
import { write } from "./messages.mjs";
import { schema } from "./schema.mjs";

let db;

function open({ path, key }) {
  if (db) throw new Error("another database is open");
  db = new Database(path);
  db.pragma(`key = "x'${key}'"`);
  db.pragma("journal_mode = WAL");
  db.pragma("synchronous = FULL");
  db.pragma("recursive_triggers = ON"); // or REPLACE would leave the old text in messages_fts
  db.initTokenizer();
}

function close() {
  db.close();
  db = undefined;
}

const commands = {
  create({ path, key, version }) {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    open({ path, key });
    db.transaction(() => schema(version).forEach((sql) => db.exec(sql)))();
  },
  open,
  messages: (command) => write(db, command),
  close,
  exec({ sql, args = [] }) {
    if (args.length === 0) db.exec(sql); // maybe more than one statement
    else run(sql, (statement) => statement.run(args.map(decode)));
  },
  dump: () => dump(db),
  time,
  timeOpen,
  rows: ({ sql, args = [] }) => run(sql, (statement) => statement.all(args.map(decode)).map(values), { bigint: true }),
};

function run(sql, fn, options = {}) {
  const statement = db.prepare(sql, options);
  try {
    return fn(statement);
  } finally {
    statement.close();
  }
}

// A connection of another program, that reads while ours writes, and the statements that it has prepared.
let reader;
const statements = new Map();

// time runs queries as such a program does, which wants their rows and what is json in them, and returns how many
// nanoseconds that takes. Preparing them, which needs to be done but once, is not counted.
function time({ queries, ...file }) {
  reader ??= openReader(file);
  const prepared = queries.map(({ sql, args = [] }) => [statement(sql), args.map(decode)]);
  const begin = process.hrtime.bigint();
  for (const [query, args] of prepared) {
    for (const row of query.all(args)) if (row.json) JSON.parse(row.json);
  }
  return process.hrtime.bigint() - begin;
}

function statement(sql) {
  if (!statements.has(sql)) statements.set(sql, reader.prepare(sql, { persistent: true }));
  return statements.get(sql);
}

// timeOpen opens a database once more, and returns how many nanoseconds that takes.
function timeOpen(file) {
  const begin = process.hrtime.bigint();
  const other = openReader(file);
  const took = process.hrtime.bigint() - begin;
  other.close();
  return took;
}

function openReader({ path, key }) {
  const other = new Database(path);
  other.pragma(`key = "x'${key}'"`);
  other.pragma("query_only = ON");
  other.pragma("cache_size = -16384"); // as much as the reader has that is measured beside it
  other.prepare("SELECT name FROM sqlite_schema").all();
  return other;
}

// values are those of a row, in order. This library gives it as an object, and JavaScript puts properties that are
// numbers first.
function values(row) {
  const names = Object.keys(row);
  if (names.length > 1 && names.some((name) => /^\d/.test(name))) throw new Error(`give the columns names: ${names}`);
  return names.map((name) => row[name]);
}

function decode(arg) {
  if (arg?.int) return BigInt(arg.int);
  if (arg?.blob !== undefined) return Buffer.from(arg.blob, "base64");
  return arg;
}

// encode makes JSON in which an integer has no point and no exponent, and a REAL has one.
function encode(value) {
  if (Array.isArray(value)) return `[${value.map(encode).join(",")}]`;
  if (value instanceof Uint8Array) return `{"blob":"${Buffer.from(value).toString("base64")}"}`;
  if (typeof value === "bigint") return String(value);
  if (typeof value === "number") return value.toExponential();
  return JSON.stringify(value ?? null);
}

for await (const line of createInterface({ input: process.stdin })) {
  let answer;
  try {
    const command = JSON.parse(line);
    answer = `{"ok":${encode(await commands[command.do](command))}}`;
  } catch (error) {
    answer = JSON.stringify({ error: error.message });
  }
  process.stdout.write(answer + "\n");
}
process.exit(0);
