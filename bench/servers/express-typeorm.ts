/* oxlint-disable oxc/no-async-endpoint-handlers -- Express 5 forwards what a handler rejects with. */
/** Express 5 and TypeORM as their documentation shows them: repository calls, `save` for a create, a transaction for a change. */
import "reflect-metadata";
import express, { type Request } from "express";
import { DataSource } from "typeorm";
import { databaseUrl, poolSize, port } from "./environment.js";
import { newShortId, type QrCodeFields } from "./qr-code.js";
import { BenchQrCode } from "./qr-code-entity.js";

const dataSource = new DataSource({
  type: "mysql",
  url: databaseUrl,
  poolSize,
  timezone: "Z",
  entities: [BenchQrCode],
  synchronize: false,
});
await dataSource.initialize();
const repository = dataSource.getRepository(BenchQrCode);

const ownerOf = (req: Request) => Number(req.get("X-API-Key"));

function present(qr: BenchQrCode) {
  return {
    short_id: qr.shortId,
    scan_url: `https://scan.example/${qr.shortId}`,
    name: qr.name,
    description: qr.description,
    destination_url: qr.destinationUrl,
    external_reference: qr.externalReference,
    property_context: qr.propertyContext,
    is_active: qr.isActive,
    resource_version: qr.resourceVersion,
    created_at: qr.createdAt.toISOString(),
    updated_at: qr.updatedAt.toISOString(),
  };
}

/** The supplied fields under the names of the entity. */
function columnsOf(fields: QrCodeFields) {
  return {
    ...(fields.name !== undefined && { name: fields.name }),
    ...(fields.description !== undefined && { description: fields.description }),
    ...(fields.destination_url !== undefined && { destinationUrl: fields.destination_url }),
    ...(fields.external_reference !== undefined && { externalReference: fields.external_reference }),
    ...(fields.property_context !== undefined && { propertyContext: fields.property_context }),
    ...(fields.is_active !== undefined && { isActive: fields.is_active }),
  };
}

const app = express();
app.use(express.json());

app.get("/v1/qr/:short_id", async (req, res) => {
  const qr = await repository.findOneBy({ shortId: req.params.short_id, ownerId: ownerOf(req), isActive: true });
  if (qr) res.json(present(qr));
  else res.status(404).json({ error: "not found" });
});

app.get("/v1/qr", async (req, res) => {
  const rows = await repository.find({
    where: { ownerId: ownerOf(req), isActive: true },
    order: { createdAt: "DESC", id: "DESC" },
    take: Number(req.query["limit"] ?? 20),
    skip: Number(req.query["offset"] ?? 0),
  });
  res.json(rows.map(present));
});

app.post("/v1/qr", async (req, res) => {
  const fields: QrCodeFields = req.body;
  const empty = { name: null, description: null, destinationUrl: null, externalReference: null, propertyContext: null };
  const identity = { ownerId: ownerOf(req), shortId: newShortId(), isActive: true, resourceVersion: 1 };
  res.json(present(await repository.save(repository.create({ ...empty, ...identity, ...columnsOf(fields) }))));
});

app.patch("/v1/qr/:short_id", async (req, res) => {
  const own = { shortId: req.params.short_id, ownerId: ownerOf(req) };
  const resourceVersion = Number(req.get("If-Match-Version"));
  const fields: QrCodeFields = req.body;
  const answer = await dataSource.transaction(async (manager) => {
    const changes = { ...columnsOf(fields), resourceVersion: resourceVersion + 1 };
    const { affected } = await manager.update(BenchQrCode, { ...own, resourceVersion }, changes);
    return { affected, qr: await manager.findOneBy(BenchQrCode, own) };
  });
  if (answer.qr === null) res.status(404).json({ error: "not found" });
  else if (answer.affected === 1) res.json(present(answer.qr));
  else res.status(409).json({ error: "conflict" });
});

app.listen(port, "127.0.0.1");
