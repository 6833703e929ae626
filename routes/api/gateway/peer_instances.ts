/**
 * The other instances on the same store, as far as they name an address (`GATEWAY_PEER_ADDRESS`): asks them for a turn of
 * the Responses style that is not kept here, and answers what they ask.
 *
 * All are asked at once, by one POST each that is neither repeated nor redirected; the first one that has the turn
 * answers for all. Only a sealed question gets anything but the 404 of an unknown path.
 */
import type { KeptResponse, KeptResponses } from "../../../core/calls/request/kept_responses.ts";
import {
  type KeyedQuestion,
  openAnswer,
  QuestionReader,
  sealAnswer,
  sealQuestion,
  type TurnAnswer,
  type TurnQuestion,
} from "../../../core/calls/request/peer_turns.ts";
import { maxRequestBodyBytes } from "../../../core/lib/base/limits.ts";
import { decodeUtf8, encoded } from "../../../core/lib/bytes/byte_parts.ts";
import { busyRetrySeconds } from "../../../core/lib/bytes/byte_budget.ts";
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import type { Clock } from "../../../core/lib/time/clock.ts";
import type { Deadlines } from "../../../core/lib/time/deadlines.ts";
import { createHttp1Transport } from "../../../core/net/http1/transport.ts";
import { type GrowingCounter, readWhole } from "../../../core/net/transport/read_whole.ts";
import { type UpstreamExchange, UpstreamFailure } from "../../../core/net/transport/transport.ts";
import type { MasterKeys } from "../../../core/people/api_keys/seal.ts";
import type { KeyValueStore } from "../../../kv/engine/store/key_value_store.ts";
import { runningInstances } from "../../../kv/money/wallet/mod.ts";
import { readRequestBody } from "../../http/body/request_body.ts";
import { denoConnect } from "../../process/deno_connect.ts";
import type { CallLog } from "../../telemetry/call_log.ts";
import type { NamedResponse, Peers } from "./keyed_calls.ts";

/** Milliseconds for the answers of all: a turn of the largest size takes a tenth of that between two machines of a network. */
const askMs = 2_000;

/** Instances that are asked. Those of a larger fleet need a proxy that keeps a client at one of them. */
const maxAsked = 32;

/** Calls of this thread that ask at the same time. */
const maxAsking = 64;

/** Questions that this thread answers at the same time: each has a turn in memory three times while it is sealed. */
const maxAnswering = 16;

/** Characters of an id that is asked for: ids of vendors have 60. */
const maxIdChars = 512;

/** Bytes of a question with the longest id. */
const maxQuestionBytes = 8 * 1024;

/** Bytes of the turn in an answer: a longer conversation could not be continued. */
const maxTurnBytes = maxRequestBodyBytes;

/** Bytes of an answer beside the turn: the lengths of its parts and the seal. */
const maxFrameBytes = 64 * 1024;

/** Milliseconds between two lines about instances that do not answer. */
const logEveryMs = 60_000;

/** Parts of a gateway that asks and answers. */
interface Parts {
  readonly kv: KeyValueStore;
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly log: Pick<CallLog, "event">;
  readonly vault: { readonly masterKeys: MasterKeys };
  readonly keptResponses: KeptResponses;
  readonly peers: Peers | undefined;
}

/** A question, and where it goes. */
interface Addressed extends KeyedQuestion {
  readonly address: string;
  readonly sealed: string;
}

function busy(problem: string): GatewayError {
  return new GatewayError("busy", problem, { retryAfterSeconds: busyRetrySeconds });
}

/** The other instances of one that has an address. */
export class PeerInstances {
  /** The path of questions. */
  readonly path = "/peers/turns";
  readonly #parts: Parts;
  readonly #address: string;
  readonly #reader: QuestionReader;
  readonly #transport;
  #asking = 0;
  #answering = 0;
  #nextLogMs = 0;

  constructor(parts: Parts, address: string) {
    this.#parts = parts;
    this.#address = address;
    this.#reader = new QuestionReader(parts.vault.masterKeys, address, parts.clock);
    const { deadlines } = parts;
    // No connection is kept: one that its peer has closed by now would lose a question, and none is sent twice.
    this.#transport = createHttp1Transport({
      connect: denoConnect(),
      deadlines,
      idleConnectionsPerOrigin: 0,
    });
  }

  close(): void {
    this.#transport.close();
  }

  /**
   * Finds a turn at another instance. One that does not answer counts as one that has ended, whose turns are gone.
   *
   * @param counter counts the memory for the turn
   * @throws {GatewayError} `busy`
   */
  async response(of: NamedResponse, counter: GrowingCounter): Promise<KeptResponse | undefined> {
    return (await this.#ask({ act: "read", ...of }, counter))?.turn;
  }

  /**
   * Removes a turn from the instance that has it; resolves with whether one had it.
   *
   * @throws {GatewayError} `busy` also if none has it and some do not answer, so that it may still be there
   */
  async removeResponse(of: NamedResponse): Promise<boolean> {
    return await this.#ask({ act: "remove", ...of }) !== undefined;
  }

  /** Answers a question; `undefined` for what is none. */
  async answer(request: Request): Promise<Response | undefined> {
    const question = await this.#read(request);
    if (question === undefined) return undefined;
    if (this.#answering >= maxAnswering) return new Response(null, { status: 503 });
    this.#answering++;
    try {
      return new Response(await sealAnswer(question, await this.#answerTo(question)));
    } finally {
      this.#answering--;
    }
  }

  async #read(request: Request): Promise<KeyedQuestion | undefined> {
    const { deadlines } = this.#parts;
    try {
      const body = await readRequestBody(request, deadlines, { maxBytes: maxQuestionBytes });
      return await this.#reader.read(decodeUtf8(body));
    } catch (error) {
      if (error instanceof GatewayError) return undefined; // too long, or broken off
      throw error;
    }
  }

  async #answerTo({ act, account, id }: KeyedQuestion): Promise<TurnAnswer> {
    const { keptResponses, peers } = this.#parts;
    if (act === "remove") {
      const isThere = keptResponses.remove(account, id) ||
        await peers?.removeResponse({ account, id }) === true;
      return { isThere };
    }
    const turn = keptResponses.find(account, id) ?? await peers?.response({ account, id });
    const bytes = turn?.items.reduce((sum, item) => sum + item.length, turn.response.length) ?? 0;
    return turn === undefined || bytes > maxTurnBytes
      ? { isThere: false }
      : { isThere: true, turn };
  }

  async #ask(question: TurnQuestion, counter?: GrowingCounter): Promise<TurnAnswer | undefined> {
    if (question.id.length > maxIdChars) return undefined;
    if (this.#asking >= maxAsking) throw busy("Too many responses are looked for; try again");
    this.#asking++;
    const exchanges: UpstreamExchange[] = [];
    const cancel = () => exchanges.forEach((exchange) => exchange.cancel());
    const deadline = this.#parts.deadlines.create(cancel);
    let addressed: readonly Addressed[] = [];
    try {
      addressed = await this.#addressed(question);
      deadline.arm(askMs);
      const asked = addressed.map(async (one) => {
        const exchange = this.#transport.open({
          method: "POST",
          url: `${one.address}${this.path}`,
          headers: [["content-type", "text/plain"]],
          body: encoded(one.sealed),
        });
        exchanges.push(exchange);
        const answer = await this.#answerOf(exchange, one, counter);
        if (!answer.isThere) throw answer;
        return answer;
      });
      return await Promise.any(asked);
    } catch (error) {
      if (!(error instanceof AggregateError)) throw error;
      return this.#notThere(addressed, error.errors);
    } finally {
      deadline.disarm();
      cancel();
      this.#asking--;
    }
  }

  /** Seals the question for each instance but this one. */
  async #addressed(question: TurnQuestion): Promise<Addressed[]> {
    const { kv, clock, vault } = this.#parts;
    const nowMs = clock.nowMs();
    const addresses = new Set<string>();
    for (const { peerAddress } of await runningInstances(kv, nowMs)) {
      if (peerAddress !== undefined && peerAddress !== this.#address) addresses.add(peerAddress);
    }
    return await Promise.all(
      [...addresses].slice(0, maxAsked).map(async (address) => ({
        ...await sealQuestion(vault.masterKeys, question, { address, nowMs }),
        address,
      })),
    );
  }

  async #answerOf(
    exchange: UpstreamExchange,
    question: Addressed,
    counter?: GrowingCounter,
  ): Promise<TurnAnswer> {
    const response = await exchange.response;
    const { status } = response;
    // It may have the turn: that it is unknown would be wrong.
    if (status === 503) throw busy("The instance that may keep this response is busy; try again");
    const bytes = status === 200 &&
      await readWhole(response, maxTurnBytes + maxFrameBytes, counter);
    const answer = bytes && await openAnswer(question, bytes);
    if (answer) return answer;
    throw new UpstreamFailure("protocol", `The question was not answered (status ${status})`);
  }

  /**
   * None has said that it has the turn.
   *
   * @param answers what each said, or why it did not
   */
  #notThere(asked: readonly Addressed[], answers: readonly unknown[]): undefined {
    const { log, clock } = this.#parts;
    const failures = answers.filter((answer) => answer instanceof Error);
    const [failure] = failures;
    const first = asked[answers.indexOf(failure)];
    if (failure === undefined || first === undefined) return undefined;
    const unforeseen = failures.find((error) => !(error instanceof UpstreamFailure));
    if (unforeseen !== undefined) throw unforeseen;
    if (clock.monotonicMs() >= this.#nextLogMs) {
      this.#nextLogMs = clock.monotonicMs() + logEveryMs;
      log.event("warn", "instances do not answer each other", {
        instances: failures.length,
        address: first.address,
        error: failure.message,
        look_at: "GATEWAY_PEER_ADDRESS, clocks and GATEWAY_MASTER_KEYS of each",
      });
    }
    if (first.act === "read") return undefined;
    throw busy("An instance that may keep this response does not answer; try again in a minute");
  }
}
