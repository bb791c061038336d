/**
 * The least that can answer these requests on Node and mysql2: no framework, validation, audit or idempotency, the owner
 * taken from X-API-Key as it stands. One statement a request; PATCH needs a second for the row that it answers.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createPool, type QueryError, type ResultSetHeader, type RowDataPacket } from "mysql2";
import { databaseUrl, poolSize, port } from "./environment.js";
import {
  INSERT,
  newRow,
  present,
  type QrCodeFields,
  type QrCodeRow,
  SELECT_ANY,
  SELECT_ONE,
  SELECT_PAGE,
  updateOf,
} from "./qr-code.js";

type Row = QrCodeRow & RowDataPacket;
type Done<T> = (error: QueryError | null, result: T) => void;

const pool = createPool({ uri: databaseUrl, connectionLimit: poolSize, timezone: "Z" });

function answer(res: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body);
  res.writeHead(status, {
    "Content-Type": "application/json; charset=utf-8",
    "Content-Length": Buffer.byteLength(text),
  });
  res.end(text);
}

/** Turns a result into an answer; any error is a 500. */
function answering<T>(res: ServerResponse, onResult: (result: T) => void): Done<T> {
  return (error, result) => (error === null ? onResult(result) : answer(res, 500, { error: error.message }));
}

const answerRow = (res: ServerResponse) =>
  answering<Row[]>(res, ([row]) => (row ? answer(res, 200, present(row)) : answer(res, 404, { error: "not found" })));

function withBody(req: IncomingMessage, onBody: (fields: QrCodeFields) => void): void {
  let text = "";
  req.setEncoding("utf8");
  req.on("data", (chunk: string) => (text += chunk));
  req.on("end", () => onBody(JSON.parse(text)));
}

function list(owner: number, query: string, res: ServerResponse): void {
  const parameters = new URLSearchParams(query);
  // As text: MySQL 8 refuses the doubles that mysql2 makes of numbers here.
  const page = [owner, parameters.get("limit") ?? "20", parameters.get("offset") ?? "0"];
  pool.execute<Row[]>(
    SELECT_PAGE,
    page,
    answering(res, (rows) => answer(res, 200, rows.map(present))),
  );
}

function create(owner: number, req: IncomingMessage, res: ServerResponse): void {
  withBody(req, (fields) => {
    const row = newRow(fields);
    pool.execute(
      INSERT,
      [owner, ...Object.values(row)],
      answering(res, () => answer(res, 200, present(row))),
    );
  });
}

function update(owner: number, shortId: string, req: IncomingMessage, res: ServerResponse): void {
  withBody(req, (fields) => {
    const { sql, values } = updateOf(owner, shortId, Number(req.headers["if-match-version"]), fields);
    pool.execute<ResultSetHeader>(
      sql,
      values,
      answering(res, ({ affectedRows }) => {
        if (affectedRows === 1) pool.execute<Row[]>(SELECT_ANY, [shortId, owner], answerRow(res));
        else answer(res, 409, { error: "conflict" });
      }),
    );
  });
}

const ONE = "/v1/qr/";

createServer((req, res) => {
  const url = req.url ?? "";
  const owner = Number(req.headers["x-api-key"]);
  if (url.startsWith(ONE)) {
    const shortId = url.slice(ONE.length);
    if (req.method === "GET") return pool.execute<Row[]>(SELECT_ONE, [shortId, owner], answerRow(res));
    if (req.method === "PATCH") return update(owner, shortId, req, res);
  }
  if (req.method === "POST") return create(owner, req, res);
  return list(owner, url.slice(url.indexOf("?") + 1), res);
}).listen(port, "127.0.0.1");
