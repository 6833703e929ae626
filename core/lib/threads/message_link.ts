/**
 * Calls between two threads over a message port. What one turn of the event loop sends travels in one message: a message
 * that wakes a sleeping thread costs some 80 µs of CPU, one more call within it two.
 *
 * Both sides run the same build, so that the types of calls and answers hold without a check.
 *
 * - Folder `core/lib/threads/`: calls between two threads of a process.
 * - In: a port, and the services of either side.
 * - Out: promises of answers; one message for what a turn of the event loop sends.
 * - Never: checks the types of what arrives: both sides run the same build.
 */

/** The part of a message port that is used here. */
export interface LinkPort {
  /** Sets what gets the messages. Called once. */
  receive(onMessage: (message: unknown) => void): void;
  post(message: unknown): void;
  close(): void;
}

/** Adapts a standard port. */
export function webPort(port: MessagePort): LinkPort {
  return {
    receive(onMessage) {
      port.onmessage = ({ data }) => onMessage(data);
    },
    post: (message) => port.postMessage(message),
    close: () => port.close(),
  };
}

/** Functions that one side lets the other call, by name. Arguments and results must be structured-cloneable. */
export type Services = Readonly<Record<string, (body: never) => unknown>>;

type BodyOf<Service> = Service extends (body: infer Body) => unknown ? Body : never;
type ResultOf<Service> = Service extends (body: never) => infer Result ? Awaited<Result> : never;

/** An error as it travels: its class is lost on the way. */
interface PassedError {
  readonly name: string;
  readonly message: string;
}

type Item =
  | readonly ["call", id: number, name: string, body: unknown]
  | readonly ["note", id: 0, name: string, body: unknown]
  | readonly ["answer", id: number, result: unknown]
  | readonly ["failure", id: number, error: PassedError];

interface Waiting {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** Thrown to callers whose link has ended. The call may have taken effect. */
export class LinkEndedError extends Error {
  override name = "LinkEndedError";

  constructor() {
    super("The other thread has ended");
  }
}

/** Options of {@linkcode MessageLink}. */
export interface MessageLinkOptions {
  /** Makes an error of a known class again; an `Error` with the name by default. */
  readonly errorOf?: (name: string, message: string) => Error | undefined;
}

/**
 * One end of a link. `Theirs` are the services of the other end.
 *
 * @example
 * ```ts
 * import { MessageLink, webPort } from "./message_link.ts";
 * const { port1, port2 } = new MessageChannel();
 * const services = { double: (value: number) => Promise.resolve(2 * value) };
 * const theirs = new MessageLink(webPort(port2), services);
 * const link = new MessageLink<typeof services>(webPort(port1), {});
 * if (await link.call("double", 21) !== 42) throw new Error("another answer");
 * link.end();
 * theirs.end();
 * ```
 */
export class MessageLink<Theirs extends Services> {
  readonly #port: LinkPort;
  readonly #services: Services;
  readonly #errorOf: NonNullable<MessageLinkOptions["errorOf"]>;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;
  #batch: Item[] = [];
  #hasEnded = false;

  constructor(
    port: LinkPort,
    services: Services,
    { errorOf = () => undefined }: MessageLinkOptions = {},
  ) {
    this.#port = port;
    this.#services = services;
    this.#errorOf = errorOf;
    port.receive((batch) => {
      // See the module doc: the other end sends nothing else.
      for (const item of batch as readonly Item[]) this.#receive(item);
    });
  }

  /** Calls a service of the other end. Rejects with its error, or with a {@linkcode LinkEndedError}. */
  call<Name extends keyof Theirs & string>(
    name: Name,
    body: BodyOf<Theirs[Name]>,
  ): Promise<ResultOf<Theirs[Name]>> {
    if (this.#hasEnded) return Promise.reject(new LinkEndedError());
    return new Promise((resolve, reject) => {
      const id = ++this.#lastId;
      // The other end runs the same build: its service of this name answers with this type.
      const settle = resolve as (result: unknown) => void;
      this.#waiting.set(id, { resolve: settle, reject });
      this.#send(["call", id, name, body]);
    });
  }

  /** Calls a service of the other end without an answer. The service must not throw. */
  note<Name extends keyof Theirs & string>(name: Name, body: BodyOf<Theirs[Name]>): void {
    if (!this.#hasEnded) this.#send(["note", 0, name, body]);
  }

  /** Ends the link: calls under way reject, and nothing more is received. Safe to call twice. */
  end(): void {
    if (this.#hasEnded) return;
    this.#flush();
    this.#hasEnded = true;
    this.#port.close();
    for (const { reject } of this.#waiting.values()) reject(new LinkEndedError());
    this.#waiting.clear();
  }

  #send(item: Item): void {
    this.#batch.push(item);
    if (this.#batch.length === 1) queueMicrotask(() => this.#flush());
  }

  #flush(): void {
    const batch = this.#batch;
    if (this.#hasEnded || batch.length === 0) return;
    this.#batch = [];
    try {
      this.#port.post(batch);
    } catch {
      // A value that cannot be cloned must fail its own call only.
      for (const item of batch) this.#sendAlone(item);
    }
  }

  #sendAlone(item: Item): void {
    try {
      this.#port.post([item]);
    } catch (error) {
      const [kind, id] = item;
      if (kind === "answer") this.#port.post([["failure", id, passed(error)]]);
      else this.#take(id)?.reject(error);
    }
  }

  #take(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    return waiting;
  }

  #receive(item: Item): void {
    if (this.#hasEnded) return;
    switch (item[0]) {
      case "call":
        return void this.#serve(item[1], item[2], item[3]);
      case "note":
        return void this.#run(item[2], item[3]);
      case "answer":
        return this.#take(item[1])?.resolve(item[2]);
      case "failure": {
        const { name, message } = item[2];
        const error = this.#errorOf(name, message) ?? Object.assign(new Error(message), { name });
        return this.#take(item[1])?.reject(error);
      }
    }
  }

  #run(name: string, body: unknown): unknown {
    const service = this.#services[name];
    if (service === undefined) throw new TypeError(`No service ${name}`);
    // See the module doc: the caller was compiled against this service.
    return service(body as never);
  }

  async #serve(id: number, name: string, body: unknown): Promise<void> {
    let item: Item;
    try {
      item = ["answer", id, await this.#run(name, body)];
    } catch (error) {
      item = ["failure", id, passed(error)];
    }
    if (!this.#hasEnded) this.#send(item);
  }
}

function passed(error: unknown): PassedError {
  return error instanceof Error
    ? { name: error.name, message: error.message }
    : { name: "Error", message: String(error) };
}
