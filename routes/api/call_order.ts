/**
 * `Idempotency-Key` on calls that are answered at once: the same key and body are charged once within a day. While the
 * first call runs here, a second waits for it; then it gets the same answer where that is still in memory, else a 409
 * that names the receipt. A call that cost nothing leaves its key free.
 */
import {
  type AnswerDraft,
  type KeptAnswer,
  keptAnswerBytes,
  KeptAnswers,
} from "../../core/calls/kept_answers.ts";
import { readOrderKey } from "../../core/calls/request/order_key.ts";
import type { Deadlines } from "../../core/lib/time/deadlines.ts";
import { GatewayError } from "../../core/errors.ts";
import type { RequestId } from "../../core/lib/ids.ts";
import { limits } from "../../core/limits.ts";
import type { MediaBody } from "../../core/media/body.ts";
import { formatVnd } from "../../core/billing/micro_vnd.ts";
import type { Principal } from "../../kv/api_keys/key_directory.ts";
import {
  beginOrder,
  type BegunOrder,
  dropOrder,
  type OrderStart,
  writeOver,
  writeUnordered,
} from "../../kv/calls/orders.ts";
import { readReceipt } from "../../kv/receipts/receipts.ts";
import type { Attachment, ReceiptDraft } from "../../kv/wallet/mod.ts";
import { pathOf } from "../http/path_of.ts";
import type { Gateway } from "./gateway.ts";
import type { Incoming } from "./incoming.ts";

const header = "idempotency-key";

/** Calls under one key that wait for the first; SDKs repeat two or three times. */
const waitingPerOrder = 4;

/** Looks at one key by one request: each but the first follows a call that came to nothing. */
const looks = 4;

/** One key under which a call runs in this process. */
interface Running {
  readonly fingerprint: string;
  readonly over: Promise<void>;
  waiting: number;
}

/** The orders of one process. */
export class CallOrders {
  readonly kept: KeptAnswers;
  readonly #deadlines: Deadlines;
  readonly #running = new Map<string, Running>();

  constructor(deadlines: Deadlines) {
    this.#deadlines = deadlines;
    this.kept = new KeptAnswers(deadlines);
  }

  /** Keys under which calls run now. */
  get running(): number {
    return this.#running.size;
  }

  /** Enters a key, or returns the call that runs under it. */
  enter(id: string, fingerprint: string): Running | { readonly leave: () => void } {
    const running = this.#running.get(id);
    if (running !== undefined) return running;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#running.set(id, { fingerprint, over: promise, waiting: 0 });
    const leave = () => {
      this.#running.delete(id);
      resolve();
    };
    return { leave };
  }

  /** Waits for a call, no longer than it can run. Tells whether it is over. */
  async wait(running: Running): Promise<boolean> {
    if (running.waiting >= waitingPerOrder) return false;
    running.waiting++;
    const late = Promise.withResolvers<false>();
    const patience = this.#deadlines.create(() => late.resolve(false));
    patience.arm(limits.callMs);
    try {
      return await Promise.race([running.over.then(() => true), late.promise]);
    } finally {
      patience.disarm();
      running.waiting--;
    }
  }
}

/** Whether the client sent a key. */
export function hasOrderKey({ request }: Incoming): boolean {
  return request.headers.has(header);
}

/**
 * Looks at the key, before anything is held or sent. Returns the answer of the first call where it is kept; otherwise
 * this call carries the order out, under `incoming.order`.
 *
 * @throws {GatewayError} `order_under_way` while another instance carries it out, `already_answered` when the answer is
 * not kept, `idempotency_key_reused` when the key belongs to another request, `maintenance` when the store does not answer
 */
export async function knownAnswer(
  gateway: Gateway,
  incoming: Incoming,
  principal: Principal,
  body: MediaBody,
): Promise<Response | undefined> {
  const { kv, clock, orders } = gateway;
  const { request, requestId } = incoming;
  const { accountId } = principal;
  const key = await readOrderKey(
    request.headers.get(header) ?? "",
    body,
    pathOf(request.url),
  );
  const id = `${accountId} ${key.id}`;
  for (let look = 1; look <= looks; look++) {
    const entered = orders.enter(id, key.fingerprint);
    if ("over" in entered) {
      if (entered.fingerprint !== key.fingerprint) throw reused();
      if (!await orders.wait(entered)) break;
      // Whoever has left gets nothing, and must not pay for it.
      if (request.signal.aborted) break;
      continue;
    }
    let isBegun = false;
    try {
      const nowMs = clock.nowMs();
      const start = await beginOrder(kv, { ...key, of: "call", accountId, requestId, nowMs });
      isBegun = start.kind === "begun";
      if (start.kind !== "begun") return await answerOf(gateway, start, id);
      incoming.order = new CallOrder(gateway, start.order, id, accountId, entered.leave);
      return undefined;
    } finally {
      if (!isBegun) entered.leave();
    }
  }
  throw underWay();
}

/** The answer to a request whose key is known. */
async function answerOf(
  { kv, orders }: Gateway,
  start: Exclude<OrderStart, { readonly kind: "begun" }>,
  id: string,
): Promise<Response> {
  switch (start.kind) {
    case "over": {
      const kept = orders.kept.find(id);
      if (kept !== undefined) return replay(kept);
      const receipt = await readReceipt(kv, start.requestId);
      throw answered(start.requestId, receipt?.costMicroVnd);
    }
    case "other_request":
      throw reused();
    case "under_way":
    case "ordered":
      throw underWay();
  }
}

function replay({ status, headers, body }: KeptAnswer): Response {
  const [whole] = body;
  const response = new Response(body.length === 1 ? whole : ReadableStream.from(body), { status });
  for (const [name, value] of headers) response.headers.append(name, value);
  response.headers.set("idempotent-replayed", "true");
  return response;
}

/** An order that this call carries out. */
export class CallOrder {
  readonly #gateway: Gateway;
  readonly #begun: BegunOrder;
  readonly #id: string;
  readonly #owner: string;
  readonly #leave: () => void;
  /** What the settlement writes: nothing so far, that the key is free, or that the call is over. */
  #written: "nothing" | "free" | "over" = "nothing";
  #isComplete = false;

  constructor(
    gateway: Gateway,
    begun: BegunOrder,
    id: string,
    owner: string,
    leave: () => void,
  ) {
    this.#gateway = gateway;
    this.#begun = begun;
    this.#id = id;
    this.#owner = owner;
    this.#leave = leave;
  }

  /** For the commit of the receipt: what becomes of the key stands or falls with the charge. */
  rows({ outcome, priceMicroVnd }: Pick<ReceiptDraft, "outcome" | "priceMicroVnd">): Attachment {
    this.#isComplete = outcome === "completed";
    this.#written = this.#isComplete || priceMicroVnd > 0n ? "over" : "free";
    const nowMs = this.#gateway.clock.nowMs();
    return {
      mutations: 1,
      apply: (op) =>
        this.#written === "over"
          ? writeOver(op, this.#begun, nowMs)
          : writeUnordered(op, this.#begun),
    };
  }

  /** The call ended before it was settled: nothing was charged. Where the store is away the row ends by itself. */
  async abandon(): Promise<void> {
    if (this.#written === "nothing") await dropOrder(this.#gateway.kv, this.#begun).catch(() => {});
  }

  /** The call ended with an error before its answer began. */
  async failed(): Promise<void> {
    await this.abandon();
    this.#leave();
  }

  /** Passes the answer on, and keeps a copy of it where it is whole in the end. */
  async answered(response: Response): Promise<Response> {
    const draft = this.#gateway.orders.kept.draft(this.#owner);
    const { status, body } = response;
    const headers: [string, string][] = [...response.headers];
    const end = (isWhole: boolean) => {
      if (isWhole && this.#isComplete) draft.keep(this.#id, { status, headers });
      else draft.drop();
      this.#leave();
    };
    if (body === null) {
      end(true);
      return response;
    }
    if (!isSmallAnswer(response)) {
      return new Response(copied(body, draft, end), { status, headers });
    }
    // Its client may have left: the answer is kept all the same.
    const bytes = await response.bytes();
    draft.add(bytes);
    end(true);
    return new Response(bytes, { status, headers });
  }
}

/** Whether an answer is whole already, and small enough to be kept. */
function isSmallAnswer({ headers }: Response): boolean {
  if (headers.get("content-type")?.startsWith("application/json") !== true) return false;
  return Number(headers.get("content-length") ?? 0) <= keptAnswerBytes;
}

/** The same stream, of which a draft gets a copy. */
function copied(
  body: ReadableStream<Uint8Array>,
  draft: AnswerDraft,
  onEnd: (isWhole: boolean) => void,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) {
          onEnd(true);
          controller.close();
          return;
        }
        draft.add(value);
        controller.enqueue(value);
      } catch (error) {
        onEnd(false);
        controller.error(error);
      }
    },
    async cancel(reason) {
      try {
        await reader.cancel(reason);
      } finally {
        onEnd(false);
      }
    },
  }, { highWaterMark: 0 });
}

export function underWay(): GatewayError {
  return new GatewayError(
    "order_under_way",
    "A request with this Idempotency-Key is in progress; try again",
    { param: header, retryAfterSeconds: 2 },
  );
}

export function reused(): GatewayError {
  return new GatewayError(
    "idempotency_key_reused",
    "This Idempotency-Key was used for another request; take a new one",
    { param: header },
  );
}

function answered(requestId: RequestId, costMicroVnd: bigint | undefined): GatewayError {
  const cost = costMicroVnd === undefined ? "" : ` and cost ${formatVnd(costMicroVnd)} VND`;
  return new GatewayError(
    "already_answered",
    `The request with this Idempotency-Key was answered as ${requestId}${cost}; the answer is not kept any more. ` +
      "Take a new key to ask, and pay, again",
    { param: header },
  );
}
