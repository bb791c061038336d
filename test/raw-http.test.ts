import { expect } from "chai";
import { onEachBackend } from "./support/backends.js";
import { expectOk } from "./support/http.js";
import { newOwner, type TestOwner } from "./support/owners.js";
import { openRaw, type RawAnswer, sendRaw } from "./support/raw.js";

const UUIDV7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

function expectEnvelope({ status, headers, body }: RawAnswer, expected: number, code: string): void {
  expect(status, JSON.stringify(body)).to.equal(expected);
  expect(headers["content-type"]).to.equal("application/json; charset=utf-8");
  expect(headers["cache-control"]).to.equal("no-store");
  expect(headers["x-content-type-options"]).to.equal("nosniff");
  expect(headers).to.not.have.property("x-powered-by");
  expect(Object.keys(body)).to.deep.equal(["error"]);
  expect(body.error).to.have.all.keys("code", "message", "request_id", "details");
  expect(body.error.code).to.equal(code);
  expect(body.error.request_id).to.equal(headers["x-request-id"]);
}

const MALFORMED: Record<string, string> = {
  "no request line": "GARBAGE\r\n\r\n",
  "an unknown method": "FETCH /v1/qr HTTP/1.1\r\nHost: x\r\n\r\n",
  "an unknown version": "GET /v1/qr HTTP/1.7\r\nHost: x\r\n\r\n",
  "a blank in a path": "GET /v1/qr/a b HTTP/1.1\r\nHost: x\r\n\r\n",
  "a path that is not ASCII": "GET /v1/qr/é HTTP/1.1\r\nHost: x\r\n\r\n",
  "a blank before a colon": "GET /v1/qr HTTP/1.1\r\nX-API-Key : x\r\n\r\n",
  "a NUL in a header": "GET /v1/qr HTTP/1.1\r\nX-API-Key: a\0b\r\n\r\n",
  "line feeds alone": "GET /v1/qr HTTP/1.1\nHost: x\n\n",
  "two lengths": "POST /v1/qr HTTP/1.1\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
  "a length and chunks": "POST /v1/qr HTTP/1.1\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
  "a length that is no number": "POST /v1/qr HTTP/1.1\r\nContent-Length: x\r\n\r\n",
  "HTTP/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  TLS: "\u0016\u0003\u0001\u0002\u0000\u0001\u0000",
};

onEachBackend("Raw HTTP", (backend) => {
  let owner: TestOwner;
  let port: number;
  before(async () => {
    owner = await newOwner(backend);
    ({ port } = owner.running);
  });
  const head = (line: string, ...headers: string[]) =>
    [`${line} HTTP/1.1`, "Host: x", `X-API-Key: ${owner.key}`, ...headers, "", ""].join("\r\n");
  const post = (body: string, ...headers: string[]) =>
    head("POST /v1/qr", "Content-Type: application/json", `Content-Length: ${body.length}`, ...headers) + body;
  const countQr = async () => expectOk(await owner.api.get("/v1/qr?limit=100")).length;

  for (const [what, text] of Object.entries(MALFORMED)) {
    it(`answers ${what} with 400 in the envelope, and closes`, async () => {
      const connection = openRaw(port);
      connection.write(text);
      const [answer] = await connection.answers(1);
      expectEnvelope(answer!, 400, "MALFORMED_HTTP");
      expect(answer!.body.error.details).to.equal(null);
      expect(answer!.headers["x-request-id"]).to.match(UUIDV7);
      expect(answer!.headers.connection).to.equal("close");
      await connection.closed;
    });
  }

  it("answers headers and paths that are too long with 431, and closes", async () => {
    for (const text of [
      head("GET /v1/qr", `X-Request-ID: ${"a".repeat(20_000)}`),
      head(`GET /v1/qr/${"a".repeat(20_000)}`),
      head("GET /v1/qr", ...Array.from({ length: 2000 }, (_none, index) => `X-${index}: aaaaaaaa`)),
    ]) {
      const connection = openRaw(port);
      connection.write(text);
      const [answer] = await connection.answers(1);
      expectEnvelope(answer!, 431, "MALFORMED_HTTP");
      expect(answer!.headers["x-request-id"]).to.match(UUIDV7);
      await connection.closed;
    }
  });

  it("ignores an Expect it does not know and continues for one it does", async () => {
    expect((await sendRaw(port, head("GET /v1/qr", "Expect: banana"))).status).to.equal(200);
    const connection = openRaw(port);
    connection.write(
      head("POST /v1/qr", "Content-Type: application/json", "Content-Length: 2", "Expect: 100-continue"),
    );
    expect((await connection.answers(1))[0]?.status).to.equal(100);
    connection.write("{}");
    expect((await connection.answers(2))[1]?.status).to.equal(200);
    connection.socket.destroy();
  });

  it("needs no Host, and takes HTTP/1.0, an absolute target and an Upgrade for what they ask", async () => {
    const key = `X-API-Key: ${owner.key}`;
    for (const text of [
      `GET /v1/qr HTTP/1.1\r\n${key}\r\n\r\n`,
      `GET /v1/qr HTTP/1.0\r\n${key}\r\n\r\n`,
      `GET http://elsewhere/v1/qr?limit=1 HTTP/1.1\r\nHost: x\r\n${key}\r\n\r\n`,
      head("GET /v1/qr", "Connection: Upgrade", "Upgrade: websocket"),
    ]) {
      expect((await sendRaw(port, text)).status, text).to.equal(200);
    }
  });

  it("reads a target without its scheme, authority and fragment, whatever they are", async () => {
    for (const authority of ["http://[::1", "http://[", "http://[::1]:x", "x://[y", "http://xn--a", "HTTP://a@b:1"]) {
      const found = await sendRaw(port, head(`GET ${authority}/v1/qr?limit=1#?limit=2`));
      expect(found.status, authority).to.equal(200);
      for (const path of ["", "/", "?limit=1", "/v1/none#/v1/qr"]) {
        const answer = await sendRaw(port, head(`GET ${authority}${path}`, "X-Request-ID: mine"));
        expectEnvelope(answer, 404, "ROUTE_NOT_FOUND");
        expect(answer.headers["x-request-id"]).to.equal("mine");
      }
    }
    expect((await sendRaw(port, head("GET /v1/qr#?none=1"))).status).to.equal(200);
    expect((await sendRaw(port, head("GET /v1/qr#/none"))).status).to.equal(200);
    expectEnvelope(await sendRaw(port, head("GET /v1/qr/a\\b#c")), 404, "RESOURCE_NOT_FOUND");
  });

  it("answers OPTIONS with 404 everywhere, under the caller's request id", async () => {
    const paths = ["/v1/qr", "/docs", "/docs/", "/docs/swagger-ui.css", "/openapi.json", "/healthz"];
    for (const path of paths) {
      const answer = await sendRaw(port, head(`OPTIONS ${path}`, "X-Request-ID: mine"));
      expectEnvelope(answer, 404, "ROUTE_NOT_FOUND");
      expect(answer.headers["x-request-id"], path).to.equal("mine");
      expect(answer.headers).to.not.have.property("allow");
    }
  });

  it("answers CONNECT and OPTIONS * with 404, under the caller's request id", async () => {
    for (const line of ["CONNECT elsewhere:443", "OPTIONS *"]) {
      const answer = await sendRaw(port, head(line, "X-Request-ID: mine"));
      expectEnvelope(answer, 404, "ROUTE_NOT_FOUND");
      expect(answer.headers["x-request-id"]).to.equal("mine");
    }
  });

  it("reads chunked bodies, in whatever pieces they come", async () => {
    const connection = openRaw(port);
    const before = await countQr();
    connection.write(head("POST /v1/qr", "Content-Type: application/json", "Transfer-Encoding: chunked"));
    const encoded = '1\r\n{\r\n7;ext=1\r\n"name":\r\n4\r\n"xy"\r\n1\r\n}\r\n0\r\nTrailer: 1\r\n\r\n';
    for (const piece of encoded.match(/.{1,5}/gs)!) {
      connection.write(piece);
      await new Promise(setImmediate);
    }
    const [answer] = await connection.answers(1);
    expect(answer?.body.name).to.equal("xy");
    expect(await countQr()).to.equal(before + 1);
    connection.socket.destroy();
  });

  it("answers a malformed chunk with 400 and does nothing", async () => {
    const before = await countQr();
    const text = head("POST /v1/qr", "Content-Type: application/json", "Transfer-Encoding: chunked");
    expectEnvelope(await sendRaw(port, `${text}2\r\n{}\r\nzz\r\n`), 400, "MALFORMED_HTTP");
    expect(await countQr()).to.equal(before);
  });

  it("answers pipelined requests in their order", async () => {
    const connection = openRaw(port);
    const ids = Array.from({ length: 10 }, (_none, index) => `pipelined-${index}`);
    connection.write(ids.map((id) => post("{}", `X-Request-ID: ${id}`)).join(""));
    const answers = await connection.answers(10);
    expect(answers.map(({ headers }) => headers["x-request-id"])).to.deep.equal(ids);
    expect(answers.map(({ status }) => status)).to.deep.equal(ids.map(() => 200));
    connection.socket.destroy();
  });

  it("answers a whole request before what is malformed behind it", async () => {
    const connection = openRaw(port);
    connection.write(`${post("{}")}${post("{}")}GARBAGE\r\n\r\n`);
    connection.write("MORE GARBAGE\r\n\r\n");
    const answers = await connection.answers(3);
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 400]);
    await connection.closed;
  });

  it("keeps the connection after a refused body, and finds the next request", async () => {
    const connection = openRaw(port);
    connection.write(post("x".repeat(1024 * 1024 + 1)) + head("GET /v1/qr"));
    const answers = await connection.answers(2);
    expect(answers.map(({ status }) => status)).to.deep.equal([422, 200]);
    connection.socket.destroy();
  });

  it("refuses a huge declared body, and one without end, before it has come", async () => {
    for (const framing of ["Content-Length: 100000000000", "Transfer-Encoding: chunked"]) {
      const connection = openRaw(port);
      connection.write(head("POST /v1/qr", "Content-Type: application/json", framing));
      const chunk = "x".repeat(0x20000);
      const pieces = framing.includes("chunked") ? 10 : 0;
      for (let sent = 0; sent < pieces; sent++) connection.write(`20000\r\n${chunk}\r\n`);
      const [answer] = await connection.answers(1);
      expectEnvelope(answer!, 422, "VALIDATION_FAILED");
      connection.socket.destroy();
    }
  });

  it("does nothing for a caller that goes away mid-body, and serves the next", async () => {
    const before = await countQr();
    for (const part of ["", '{"name":', '{"name":"x"}']) {
      const connection = openRaw(port);
      connection.write(head("POST /v1/qr", "Content-Type: application/json", "Content-Length: 500") + part);
      await new Promise((resolve) => setTimeout(resolve, 20));
      connection.socket.destroy();
      await connection.closed;
    }
    expect(await countQr()).to.equal(before);
  });
});
