import type { ServerResponse } from "node:http";
import { TRPC_ERROR_CODES_BY_KEY } from "@trpc/server/rpc";
import { Context, type Dependencies } from "./context.js";
import { ApiError, toApiError, validationFailed } from "./errors.js";
import { errorData } from "./failure.js";
import { errorHeaders, header, type Json, readJsonBody, RequestAborted, sendJson, sendJsonArray } from "./http.js";
import { isJsonObject, parseStrictJson, StrictJsonError } from "./json.js";
import { logFailure } from "./logging.js";
import type { Endpoint } from "./procedures.js";
import { decodePart } from "./request-text.js";
import type { GatewayRequest } from "./rest.js";

/** The most procedures one batch may name. */
const MAX_BATCH = 20;

/** From this length on, an answer waits for the rest of its batch as bytes. */
const LONG_ANSWER = 4096;

/** One call's answer in tRPC's wire format, with what an unbatched answer carries in its headers. */
interface Answer {
  status: number;
  json: Json;
  headers: string[];
}

const malformed = (error: StrictJsonError, location: "query" | "body") =>
  validationFailed([{ location, path: "", message: error.message }]);

function failureAnswer(error: ApiError, requestId: string, endpoint?: Endpoint): Answer {
  const data = { ...errorData(error, requestId, endpoint?.operation), path: endpoint?.name };
  const json = JSON.stringify({
    error: { message: error.message, code: TRPC_ERROR_CODES_BY_KEY[error.trpcCode], data },
  });
  return { status: error.status, json, headers: errorHeaders(error, data.retry_after) };
}

/**
 * A long answer as bytes: as text, the collector copies it again and again until the batch is whole. Measured on batches of ten
 * pages of fifty: 350 µs of server a page, 410 as text; one page alone costs 300.
 */
const outsideOfHeap = (answer: Answer): Answer =>
  answer.json.length < LONG_ANSWER ? answer : { ...answer, json: Buffer.from(answer.json) };

const orEmpty = (input: unknown) => (input === undefined ? {} : input);

/**
 * Reads the inputs of a request, once, when the first call whose key and scopes hold asks for its own. A call without input
 * has an empty one, as over REST.
 */
function inputReader(req: GatewayRequest, search: URLSearchParams, isQuery: boolean, isBatch: boolean) {
  const read = async (): Promise<unknown> => {
    try {
      if (!isQuery) return await readJsonBody(req);
      // URLSearchParams reads what cannot be decoded leniently.
      if (decodePart(req.rawQuery) === undefined) throw new StrictJsonError("The percent-encoding is malformed.");
      const text = search.get("input");
      return text === null ? undefined : parseStrictJson(text);
    } catch (error) {
      throw error instanceof StrictJsonError ? malformed(error, isQuery ? "query" : "body") : error;
    }
  };
  let all: Promise<unknown> | undefined;
  return async (index: number): Promise<unknown> => {
    const inputs = orEmpty(await (all ??= read()));
    if (!isBatch) return inputs;
    if (!isJsonObject(inputs)) {
      throw malformed(
        new StrictJsonError("A batch's input must be an object of inputs by index."),
        isQuery ? "query" : "body",
      );
    }
    return orEmpty(inputs[index]);
  };
}

/**
 * tRPC's HTTP protocol: single calls and batches, GET for queries, POST for mutations. tRPC's own adapter answers 400, 405
 * and 415, knows no request id where it refuses a request by itself, and reads JSON leniently.
 */
export function trpcHandler(deps: Dependencies, endpoints: ReadonlyMap<string, Endpoint>) {
  async function answer(
    req: GatewayRequest,
    name: string,
    isQuery: boolean,
    getRawInput: () => Promise<unknown>,
  ): Promise<Answer> {
    const endpoint = endpoints.get(name);
    try {
      if (endpoint === undefined || (endpoint.type === "query") !== isQuery) throw new ApiError("ROUTE_NOT_FOUND");
      const ctx = new Context(deps, req.requestId, header(req, "x-api-key"));
      const data = await endpoint.call(ctx, getRawInput);
      const json = `{"result":{"data":${ctx.body ?? JSON.stringify(data)}}}`;
      return { status: 200, json, headers: ctx.replayed ? ["Idempotency-Replayed", "true"] : [] };
    } catch (thrown) {
      if (thrown instanceof RequestAborted) throw thrown;
      const error = toApiError(thrown);
      logFailure(deps.log, error, req.requestId, endpoint?.name ?? "unknown");
      return failureAnswer(error, req.requestId, endpoint);
    }
  }

  function refuse(req: GatewayRequest, res: ServerResponse, error: ApiError): void {
    const { status, json, headers } = failureAnswer(error, req.requestId);
    sendJson(res, req.requestId, status, json, headers);
  }

  /** What a batch that is too long is told, once its key holds. */
  async function refusalOfBatch(req: GatewayRequest): Promise<ApiError> {
    try {
      await deps.auth.authenticate(header(req, "x-api-key"));
    } catch (thrown) {
      const error = toApiError(thrown);
      logFailure(deps.log, error, req.requestId, "batch");
      return error;
    }
    return malformed(new StrictJsonError(`A batch may name at most ${MAX_BATCH} procedures.`), "query");
  }

  /** Answers `/trpc/{path}`; `path` is percent-encoded. */
  return async (req: GatewayRequest, res: ServerResponse, path: string): Promise<void> => {
    const isQuery = req.method === "GET" || req.method === "HEAD";
    if (!isQuery && req.method !== "POST") return refuse(req, res, new ApiError("ROUTE_NOT_FOUND"));
    const search = new URLSearchParams(req.rawQuery);
    const isBatch = search.get("batch") === "1";
    const text = decodePart(path);
    if (text === undefined) return refuse(req, res, new ApiError("ROUTE_NOT_FOUND"));
    const names = isBatch ? text.split(",") : [text];
    if (names.length > MAX_BATCH) return refuse(req, res, await refusalOfBatch(req));
    const inputOf = inputReader(req, search, isQuery, isBatch);
    let answers: Answer[];
    try {
      answers = await Promise.all(
        names.map(async (name, index) => {
          const one = await answer(req, name, isQuery, () => inputOf(index));
          return isBatch ? outsideOfHeap(one) : one;
        }),
      );
    } catch (error) {
      if (error instanceof RequestAborted) return;
      throw error;
    }
    const [first] = answers as [Answer];
    if (!isBatch) return sendJson(res, req.requestId, first.status, first.json, first.headers);
    const status = answers.every((one) => one.status === first.status) ? first.status : 207;
    // Every 401 names its scheme; what else a batch's answers carry is in their data.
    const headers = status === 401 ? first.headers : [];
    const items = answers.map((one) => one.json);
    sendJsonArray(res, req.requestId, status, items, headers);
  };
}
