import { connect, type Socket } from "node:net";

/** Called once a request is answered; status 0 where the connection broke. `text` holds what came first: head and short bodies. */
export type OnResponse = (status: number, text: string) => void;

const LAST_CHUNK = "0\r\n\r\n";

/**
 * An HTTP/1.1 client for one request at a time on one kept-alive socket. It reads into one buffer and looks at no more of a
 * response than its status and its length: a third of the CPU of node:http's client, and that is CPU the server would lack.
 */
export class Connection {
  #socket: Socket | null = null;
  #head = "";
  /** Body bytes still to come; null while the head is being read, NaN in a chunked body. */
  #left: number | null = null;
  #tail = "";
  #waiting = false;

  constructor(
    private readonly port: number,
    private readonly onResponse: OnResponse,
  ) {}

  /** Sends a request; the one before must have been answered. */
  send(request: string): void {
    this.#waiting = true;
    this.#head = "";
    this.#left = null;
    this.#tail = "";
    this.#socket ??= this.#open();
    this.#socket.write(request, "latin1");
  }

  /** Ends the connection. */
  close(): void {
    this.#socket?.destroy();
  }

  #open(): Socket {
    const buffer = Buffer.allocUnsafe(65_536);
    const callback = (size: number) => {
      this.#receive(buffer, size);
      return true;
    };
    const socket = connect({ port: this.port, host: "127.0.0.1", noDelay: true, onread: { buffer, callback } });
    socket.on("error", () => socket.destroy());
    socket.on("close", () => {
      this.#socket = null;
      if (this.#waiting) this.#finish(0, "connection closed");
    });
    return socket;
  }

  #receive(buffer: Buffer, size: number): void {
    if (this.#left === null) {
      this.#head += buffer.toString("latin1", 0, size);
      const end = this.#head.indexOf("\r\n\r\n");
      if (end === -1) return;
      const length = /\r\ncontent-length: *(\d+)/i.exec(this.#head);
      this.#left = length === null ? Number.NaN : Number(length[1]) - (this.#head.length - end - 4);
    } else {
      this.#left -= size;
    }
    if (this.#left === 0 || (Number.isNaN(this.#left) && this.#endsChunked(buffer, size))) {
      this.#finish(Number(this.#head.slice(9, 12)), this.#head);
    }
  }

  /** JSON never holds the bytes of a last chunk, so that the end of the stream so far is enough to know. */
  #endsChunked(buffer: Buffer, size: number): boolean {
    const recent = this.#tail + buffer.toString("latin1", Math.max(0, size - LAST_CHUNK.length), size);
    this.#tail = recent.slice(-LAST_CHUNK.length);
    return this.#tail === LAST_CHUNK;
  }

  #finish(status: number, text: string): void {
    this.#waiting = false;
    this.onResponse(status, text);
  }
}
