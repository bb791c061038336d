import { Agent, createServer, request, type IncomingHttpHeaders } from "node:http";

/** What goes wrong with one request; `lose the answer` only after the gateway has done its work. */
type Fault =
  | "none"
  | "refuse"
  | "lose the answer"
  | { status: number; headers?: Record<string, string>; body?: string };

/** A proxy in front of a gateway that does to each request what the next fault says. */
export interface FaultyProxy {
  url: string;
  /** The faults still to come; without any, requests pass. */
  faults: Fault[];
  /** What was sent to it. */
  seen: { method: string; path: string; headers: IncomingHttpHeaders; body: string; at: number }[];
  /** How many connections were opened to it. */
  connections: number;
  stop(): Promise<void>;
}

/** Starts one. */
export async function startFaultyProxy(target: string): Promise<FaultyProxy> {
  const agent = new Agent({ keepAlive: true });
  const server = createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on("data", (chunk: Buffer) => chunks.push(chunk));
    req.on("end", () => {
      const body = Buffer.concat(chunks);
      const path = req.url as string;
      proxy.seen.push({
        method: req.method as string,
        path,
        headers: req.headers,
        body: body.toString(),
        at: performance.now(),
      });
      const fault = proxy.faults.shift() ?? "none";
      if (fault === "refuse") return res.destroy();
      if (typeof fault === "object") {
        res.writeHead(fault.status, { "Content-Type": "text/html", ...fault.headers });
        return res.end(fault.body ?? "<h1>Not now</h1>");
      }
      const { hostname, port } = new URL(target);
      const options = { hostname, port, agent, method: req.method, path, headers: req.headers };
      const forwarded = request(options, (answer) => {
        if (fault === "lose the answer") {
          answer.resume().on("end", () => res.destroy());
          return;
        }
        res.writeHead(answer.statusCode as number, answer.headers);
        answer.pipe(res);
      });
      forwarded.on("error", () => res.destroy());
      return forwarded.end(body);
    });
  });
  const proxy: FaultyProxy = {
    url: "",
    faults: [],
    seen: [],
    connections: 0,
    async stop() {
      agent.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  server.on("connection", () => (proxy.connections += 1));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  proxy.url = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
  return proxy;
}
