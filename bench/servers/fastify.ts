/* oxlint-disable oxc/no-async-endpoint-handlers -- Fastify awaits its handlers. */
/** What a careful hand writes with Fastify 5 and mysql2: schemas in and out, prepared statements, a pool; no audit, no idempotency. */
import Fastify, { type FastifyReply, type FastifyRequest } from "fastify";
import { createPool, type ResultSetHeader, type RowDataPacket } from "mysql2/promise";
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

const text = (maxLength: number) => ({ type: "string", nullable: true, maxLength });

const writable = {
  name: { ...text(255), minLength: 1 },
  description: text(2000),
  destination_url: text(2048),
  external_reference: { ...text(255), minLength: 1 },
  property_context: { type: "object", nullable: true, additionalProperties: true },
  is_active: { type: "boolean" },
};
const body = { type: "object", additionalProperties: false, properties: writable };
const params = { type: "object", required: ["short_id"], properties: { short_id: { type: "string" } } };
const qrCode = {
  type: "object",
  properties: {
    short_id: { type: "string" },
    scan_url: { type: "string" },
    ...writable,
    resource_version: { type: "integer" },
    created_at: { type: "string" },
    updated_at: { type: "string" },
  },
};
const querystring = {
  type: "object",
  properties: {
    limit: { type: "integer", minimum: 1, maximum: 100, default: 20 },
    offset: { type: "integer", minimum: 0, default: 0 },
  },
};
const versioned = {
  type: "object",
  required: ["if-match-version"],
  properties: { "if-match-version": { type: "string", pattern: "^[1-9][0-9]*$" } },
};

interface ByShortId {
  Params: { short_id: string };
}

const pool = createPool({ uri: databaseUrl, connectionLimit: poolSize, timezone: "Z" });
const app = Fastify();

const ownerOf = (request: FastifyRequest) => Number(request.headers["x-api-key"]);

async function findOne(sql: string, shortId: string, owner: number): Promise<Row | undefined> {
  const [rows] = await pool.execute<Row[]>(sql, [shortId, owner]);
  return rows[0];
}

function answerRow(reply: FastifyReply, row: Row | undefined) {
  return row ? present(row) : reply.code(404).send({ error: "not found" });
}

app.get<ByShortId>("/v1/qr/:short_id", { schema: { params, response: { 200: qrCode } } }, async (request, reply) =>
  answerRow(reply, await findOne(SELECT_ONE, request.params.short_id, ownerOf(request))),
);

app.get<{ Querystring: { limit: number; offset: number } }>(
  "/v1/qr",
  { schema: { querystring, response: { 200: { type: "array", items: qrCode } } } },
  async (request) => {
    // As text: MySQL 8 refuses the doubles that mysql2 makes of numbers here.
    const page = [ownerOf(request), String(request.query.limit), String(request.query.offset)];
    const [rows] = await pool.execute<Row[]>(SELECT_PAGE, page);
    return rows.map(present);
  },
);

app.post<{ Body: QrCodeFields }>("/v1/qr", { schema: { body, response: { 200: qrCode } } }, async (request) => {
  const row = newRow(request.body);
  await pool.execute(INSERT, [ownerOf(request), ...Object.values(row)]);
  return present(row);
});

app.patch<ByShortId & { Body: QrCodeFields }>(
  "/v1/qr/:short_id",
  { schema: { params, body, headers: versioned, response: { 200: qrCode } } },
  async (request, reply) => {
    const owner = ownerOf(request);
    const shortId = request.params.short_id;
    const { sql, values } = updateOf(owner, shortId, Number(request.headers["if-match-version"]), request.body);
    const [result] = await pool.execute<ResultSetHeader>(sql, values);
    const row = await findOne(SELECT_ANY, shortId, owner);
    if (row && result.affectedRows === 0) return reply.code(409).send({ error: "conflict" });
    return answerRow(reply, row);
  },
);

await app.listen({ port, host: "127.0.0.1" });
