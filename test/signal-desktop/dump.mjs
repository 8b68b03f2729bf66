// The contents of a database in short: for each table the number of its rows and a hash of all values.
import { createHash } from "node:crypto";

const rows = 5_000; // that are read at a time

/**
 * Returns {table: "rows hash"}, for all tables but virtual ones. The hash is SHA-256, in hexadecimal, of all values of
 * the columns that are stored, in the order of columns and of the table itself. Each value is its type in SQLite, a
 * space, its text (of bytes, hexadecimal; of a REAL, the eight bytes of IEEE 754, likewise), and a byte 0.
 */
export function dump(db) {
  const tables = db.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL %'`).all();
  return Object.fromEntries(tables.map(({ name }) => [name, hash(db, name)]));
}

function hash(db, table) {
  const columns = db.prepare(`SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0 ORDER BY cid`).all([table]);
  const values = columns.map(({ name }, i) => `typeof("${name}") AS t${i}, "${name}" AS v${i}`);
  const query = db.prepare(`SELECT ${values} FROM "${table}" NOT INDEXED LIMIT ? OFFSET ?`, { bigint: true });
  const sum = createHash("sha256");
  let count = 0;
  for (let part; (part = query.all([rows, count])).length > 0; count += part.length) {
    for (const row of part) columns.forEach((_, i) => sum.update(text(row[`t${i}`], row[`v${i}`])).update("\0"));
  }
  query.close();
  return `${count} ${sum.digest("hex")}`;
}

function text(type, value) {
  switch (type) {
    case "null":
      return "null ";
    case "blob":
      return `blob ${Buffer.from(value).toString("hex")}`;
    case "real": {
      const bytes = Buffer.alloc(8);
      bytes.writeDoubleBE(value);
      return `real ${bytes.toString("hex")}`;
    }
    default:
      return `${type} ${value}`;
  }
}
