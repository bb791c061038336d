import type { Lookup, LookupOptions, Query, Sql, SqlValue } from "./sql.js";

/** The most keys of one statement; places are padded to a power of two, so that few texts are prepared. */
const MAX_PLACES = 32;

interface Waiting<Row> {
  key: SqlValue;
  resolve: (row: Row | undefined) => void;
  reject: (error: unknown) => void;
}

/** Buffers are compared by content. */
const mapKey = (key: unknown): unknown => (Buffer.isBuffer(key) ? key.toString("latin1") : key);

/**
 * A look-up whose calls of one event-loop turn share one statement for each owner. The statement is sent after the turn, so
 * each read starts after its request arrived and sees every write acknowledged before; nothing is kept, and no read joins a
 * statement already sent. Measured on 32 connections: 51 µs of server and 24 of database CPU a read, 71 and 45 without it.
 */
export function batchedLookup<Row>(sql: Pick<Sql, "all">, options: LookupOptions<Row>): Lookup<Row> {
  const { select, where = "", column, property, read } = options;
  const texts = new Map<number, string>();
  let waiting = new Map<number, Waiting<Row>[]>();

  function textFor(places: number): string {
    let text = texts.get(places);
    if (text === undefined) {
      const list = Array.from({ length: places }, () => "?").join(", ");
      texts.set(places, (text = `${select} WHERE owner_id = ? AND ${column} IN (${list})${where}`));
    }
    return text;
  }

  async function send(ownerId: number, calls: Waiting<Row>[]): Promise<void> {
    try {
      const places = 2 ** Math.ceil(Math.log2(calls.length));
      const keys = Array.from({ length: places }, (_, index) => (calls[index] ?? (calls[0] as Waiting<Row>)).key);
      const rows = await sql.all<Record<string, unknown>>(textFor(places), [ownerId, ...keys]);
      const found = new Map(rows.map((row) => [mapKey(row[property]), read(row)]));
      for (const call of calls) call.resolve(found.get(mapKey(call.key)));
    } catch (error) {
      for (const call of calls) call.reject(error);
    }
  }

  function dispatch(): void {
    const turn = waiting;
    waiting = new Map();
    for (const [ownerId, calls] of turn) {
      for (let start = 0; start < calls.length; start += MAX_PLACES) {
        void send(ownerId, calls.slice(start, start + MAX_PLACES));
      }
    }
  }

  return (ownerId, key) =>
    new Promise((resolve, reject) => {
      if (waiting.size === 0) setImmediate(dispatch);
      const calls = waiting.get(ownerId);
      if (calls === undefined) waiting.set(ownerId, [{ key, resolve, reject }]);
      else calls.push({ key, resolve, reject });
    });
}

/** A query whose equal calls of one event-loop turn share one statement, sent after the turn like a look-up's. */
export function sharedQuery<Row>(sql: Pick<Sql, "all">, text: string, read: (row: unknown) => Row): Query<Row> {
  let turn = new Map<string, Promise<Row[]>>();

  async function send(values: SqlValue[]): Promise<Row[]> {
    await new Promise(setImmediate);
    turn = new Map();
    return (await sql.all(text, values)).map(read);
  }

  return (values) => {
    const key = JSON.stringify(values);
    let rows = turn.get(key);
    if (rows === undefined) turn.set(key, (rows = send(values)));
    return rows;
  };
}
