/** The end of a chat call: priced by the outcome table, debited and written down exactly once. */
import type { ChatRequest } from "../../core/call/chat_request.ts";
import type { Model, Route } from "../../core/catalog/catalog.ts";
import type { RequestId } from "../../core/ids.ts";
import { chargeForChat } from "../../core/money/outcome.ts";
import type { TokenUsage } from "../../core/money/token_usage.ts";
import type { AppliedPrice, Attempt, Outcome, Receipt } from "../../core/receipt.ts";
import type { Principal } from "../../kv/key_directory.ts";
import type { Reservation } from "../../kv/teller/mod.ts";
import type { Gateway } from "./gateway.ts";

export interface ChatSettlementInput {
  readonly requestId: RequestId;
  readonly principal: Principal;
  readonly model: Model;
  readonly mappedFrom: string | undefined;
  readonly request: ChatRequest;
  readonly price: AppliedPrice;
  readonly bodyBytes: number;
  readonly reservation: Reservation;
  readonly startedAtMs: number;
  readonly startedMonotonicMs: number;
  /** Called once when the call is over, whatever happened. */
  readonly onEnd: () => void;
}

export interface CallEnd {
  readonly outcome: Outcome;
  readonly status: number;
  readonly reading:
    | { readonly usage: TokenUsage | undefined; readonly outputBytes: number }
    | undefined;
  readonly route: Route | undefined;
  readonly attempts: readonly Attempt[];
}

/** Prompts without a report are counted at this many bytes of request per token, JSON and all. */
const bytesPerInputToken = 4;

export class ChatSettlement {
  readonly #gateway: Gateway;
  readonly #input: ChatSettlementInput;
  #firstOutputMs: number | undefined;
  #ended = false;

  constructor(gateway: Gateway, input: ChatSettlementInput) {
    this.#gateway = gateway;
    this.#input = input;
  }

  get price(): AppliedPrice {
    return this.#input.price;
  }

  get mappedFrom(): string | undefined {
    return this.#input.mappedFrom;
  }

  #elapsedMs(): number {
    return Math.round(this.#gateway.clock.monotonicMs() - this.#input.startedMonotonicMs);
  }

  /** Notes the moment at which output began. */
  firstOutput(): void {
    this.#firstOutputMs = this.#elapsedMs();
  }

  /** Debits and writes the receipt; resolves when both are durable. */
  async settle(end: CallEnd): Promise<Receipt> {
    const { requestId, principal, model, mappedFrom, request, price, bodyBytes } = this.#input;
    const charge = chargeForChat({
      outcome: end.outcome,
      price,
      reported: end.reading?.usage,
      estimatedInputTokens: Math.ceil(bodyBytes / bytesPerInputToken),
      outputBytes: end.reading?.outputBytes ?? 0,
    });
    this.#ended = true;
    try {
      const receipt = await this.#gateway.teller.settle(this.#input.reservation, {
        requestId,
        keyId: principal.key.id,
        kind: "chat",
        model: model.id,
        ...(mappedFrom === undefined ? {} : { mappedFrom }),
        style: request.style,
        ...(end.route === undefined ? {} : { route: end.route.id }),
        startedAtMs: this.#input.startedAtMs,
        latencyMs: this.#elapsedMs(),
        ...(this.#firstOutputMs === undefined ? {} : { firstOutputMs: this.#firstOutputMs }),
        status: end.status,
        stream: request.stream,
        outcome: end.outcome,
        usage: charge.usage,
        estimated: charge.estimated,
        units: charge.units,
        price,
        priceMicroVnd: charge.priceMicroVnd,
        attempts: end.attempts,
      });
      this.#gateway.log.call(receipt);
      return receipt;
    } finally {
      this.#input.onEnd();
    }
  }

  /** The call ended before anything could be charged, e.g. its conversion was refused: the hold goes back. */
  abandon(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#gateway.teller.release(this.#input.reservation);
    this.#input.onEnd();
  }
}
