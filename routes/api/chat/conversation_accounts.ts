/**
 * Keeps a conversation with the account at a provider that can read its sealed items, and leaves out what another one
 * cannot read. See docs/behaviour.md#routing.
 */
import {
  refusesForeignItems,
  sealsOf,
  withoutSeals,
} from "../../../core/calls/request/sealed_items.ts";
import type { ChatCall, ChatExchange } from "../../../core/calls/exchange/chat_call.ts";
import { continuesTurn } from "../../../core/calls/request/chat_request.ts";
import type { FormerRoute, KeyPreference } from "../../../core/routing/contract/router.ts";
import { type AnsweredBy, nobody } from "../../../core/routing/route_affinity.ts";
import type { Gateway } from "../gateway/gateway.ts";

/** The accounts behind the sealed items of one call. */
export class ConversationAccounts {
  readonly #gateway: Pick<Gateway, "routeAffinity" | "clock">;
  readonly #call: ChatCall;
  readonly #seals: readonly string[];
  readonly #former: AnsweredBy | undefined;
  readonly #conversation: string | undefined;

  /**
   * @param former who answered the conversation last: what is new in it since then is theirs
   * @param conversation what all turns of the conversation have in common
   */
  constructor(
    gateway: Pick<Gateway, "routeAffinity" | "clock">,
    call: ChatCall,
    former: AnsweredBy | undefined,
    conversation: string | undefined,
  ) {
    const { routeAffinity, clock } = gateway;
    this.#gateway = gateway;
    this.#call = call;
    this.#seals = sealsOf(call.request.style, call.body);
    this.#conversation = conversation;
    if (former !== undefined) routeAffinity.noteSeals(this.#seals, former, clock.monotonicMs());
    this.#former = former ?? this.#lastOwner();
  }

  #ownerOf(seal: string): AnsweredBy | undefined {
    return this.#gateway.routeAffinity.ownerOf(seal);
  }

  #lastOwner(): AnsweredBy | undefined {
    const last = this.#seals.findLast((seal) => this.#ownerOf(seal) !== undefined);
    const owner = last === undefined ? undefined : this.#ownerOf(last);
    return owner?.account === nobody.account ? undefined : owner;
  }

  /** The route that answered last; a conversation in which it has sealed something stays there between turns, too. */
  get formerRoute(): FormerRoute | undefined {
    const former = this.#former;
    if (former === undefined) return undefined;
    const { request, body } = this.#call;
    const midTurn = continuesTurn(request.style, body.outline) ||
      this.#seals.some((seal) => this.#ownerOf(seal)?.account === former.account);
    return { routeId: former.routeId, midTurn };
  }

  /** Which key of a provider the call should have. */
  get preferred(): KeyPreference {
    return { account: this.#former?.account, conversation: this.#conversation };
  }

  /** The call without the sealed items that an account is known not to read. */
  callFor(account: string): ChatCall {
    const call = this.#call;
    const isForeign = (seal: string) => {
      const owner = this.#ownerOf(seal);
      return owner !== undefined && owner.account !== account;
    };
    if (!this.#seals.some(isForeign)) return call;
    const { body, name } = withoutSeals(call.request.style, call.body, isForeign);
    return { ...call, body, dropped: [...call.dropped ?? [], name] };
  }

  /** Has an attempt repeated without the sealed items if its provider refuses them. */
  watched(exchange: ChatExchange, account: string): ChatExchange {
    const sent = this.#seals.filter((seal) => {
      const owner = this.#ownerOf(seal);
      return owner === undefined || owner.account === account;
    });
    if (sent.length === 0) return exchange;
    let isRefused = false;
    return {
      ...exchange,
      decodeError: (status, text, waitSeconds) => {
        if (refusesForeignItems(status, text)) {
          isRefused = true;
          const { routeAffinity, clock } = this.#gateway;
          routeAffinity.disown(sent, clock.monotonicMs());
        }
        return exchange.decodeError(status, text, waitSeconds);
      },
      repeats: () => isRefused,
    };
  }
}
