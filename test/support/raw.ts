import { connect, type Socket } from "node:net";

/** An answer as it came over the wire. */
export interface RawAnswer {
  status: number;
  /** By lower-case name; the last of several. */
  headers: Record<string, string>;
  // oxlint-disable-next-line typescript/no-explicit-any -- a body is whatever was answered
  body: any;
}

/** A connection without a client in between. */
export interface RawConnection {
  socket: Socket;
  write(text: string | Buffer): void;
  /** The answers so far, once there are `count`; fails when the connection closes before. */
  answers(count: number): Promise<RawAnswer[]>;
  /** Resolves when the server has closed. */
  closed: Promise<void>;
}

/** The first whole answer in `text`, and what follows it. */
function readAnswer(text: string): { answer: RawAnswer; rest: string } | undefined {
  const end = text.indexOf("\r\n\r\n");
  if (end === -1) return undefined;
  const [statusLine = "", ...lines] = text.slice(0, end).split("\r\n");
  const headers = Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  const status = Number(statusLine.split(" ")[1]);
  const length = status === 100 ? 0 : Number(headers["content-length"]);
  const body = text.slice(end + 4, end + 4 + length);
  if (body.length < length) return undefined;
  const answer = { status, headers, body: body === "" ? undefined : (JSON.parse(body) as unknown) };
  return { answer, rest: text.slice(end + 4 + length) };
}

/** Connects to a gateway's port. */
export function openRaw(port: number): RawConnection {
  const socket = connect(port, "127.0.0.1");
  const received: RawAnswer[] = [];
  let text = "";
  let isClosed = false;
  let notify = () => undefined as void;
  socket.setEncoding("latin1");
  socket.on("data", (chunk: string) => {
    text += chunk;
    for (let read = readAnswer(text); read !== undefined; read = readAnswer(text)) {
      received.push(read.answer);
      text = read.rest;
    }
    notify();
  });
  socket.on("error", () => undefined);
  const closed = new Promise<void>((resolve) => {
    socket.on("close", () => {
      isClosed = true;
      notify();
      resolve();
    });
  });
  return {
    socket,
    write: (data) => void socket.write(data),
    answers: (count) =>
      new Promise((resolve, reject) => {
        notify = () => {
          if (received.length >= count) resolve(received);
          else if (isClosed) reject(new Error(`The connection closed after ${received.length} answers and: ${text}`));
        };
        notify();
      }),
    closed,
  };
}

/** Sends text on a connection of its own; returns the first answer. */
export async function sendRaw(port: number, text: string | Buffer): Promise<RawAnswer> {
  const connection = openRaw(port);
  connection.write(text);
  const [answer] = await connection.answers(1);
  connection.socket.destroy();
  return answer as RawAnswer;
}
