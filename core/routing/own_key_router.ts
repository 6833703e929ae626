/**
 * The router of one call whose organisation has provider keys of its own: routes with them come first, and those of the
 * operator only if the organisation wants that.
 *
 * A route with such a key is an object of this call alone. What happens on it says nothing of the operator's routes:
 * their health, speed and keys never learn of it. A key that is refused rests as one of the operator's does.
 */
import type { AttemptResult, Hedge } from "../calls/attempts/attempt_loop.ts";
import type { RouteAccess } from "../calls/exchange/chat_call.ts";
import type { MeasuredSort } from "../calls/request/route_preferences.ts";
import { type Catalog, type Model, type Route, takesOwnKeys } from "../catalog/catalog.ts";
import type { ProviderEntry } from "../catalog/schema.ts";
import { maxCallMs } from "../lib/base/limits.ts";
import type { Clock } from "../lib/time/clock.ts";
import { GatewayError, type Mark } from "../lib/errors/errors.ts";
import { OperatorRefusal } from "../wire/errors/provider_error.ts";
import type {
  CallLoad,
  KeyPreference,
  ModelStatus,
  Operation,
  RouteQuery,
  Router,
  RouteReport,
} from "./contract/router.ts";
import type { Credentials } from "./health/credentials.ts";
import { orderRoutes } from "./live_router.ts";

/** Headers of a provider entry that name the operator's account at the vendor. */
const accountHeaders: ReadonlySet<string> = new Set([
  "openai-organization",
  "openai-project",
  "x-goog-user-project",
]);

/** Returns a provider without what is only true of the operator's account there. */
export function withoutOperator<Entry extends ProviderEntry>(provider: Entry): Entry {
  if (provider.kind === "sandbox") return provider;
  const headers = Object.entries(provider.headers).filter(([name]) => !accountHeaders.has(name));
  return { ...provider, headers: Object.fromEntries(headers) };
}

/** A provider key of the organisation that calls. */
export interface OpenedOwnKey {
  readonly provider: string;
  /** The key; absent: why it cannot be used. */
  readonly secret?: string;
  /** The rests of the key after refusals, over all calls; absent without a key. */
  readonly rests?: Credentials;
  readonly problem?: string;
  /** Whether calls go on to the operator's routes. */
  readonly fallback: boolean;
}

/** A provider refused a key of the organisation, for its rights or its credit. */
class OwnKeyRefusal extends GatewayError {
  readonly provider: string;
  readonly providerStatus: number;

  constructor(provider: string, providerStatus: number, marks?: Mark) {
    super(
      "upstream_unreachable",
      `The provider ${provider} refused your organisation's own key (status ${providerStatus}): check it there, or ` +
        "replace it under Organisation, Provider keys",
      { retry: false, cause: `status ${providerStatus}`, ...(marks !== undefined && { marks }) },
    );
    this.provider = provider;
    this.providerStatus = providerStatus;
  }
}

/** Tells the owner of a key what the provider said of it, in place of words about the operator's. */
function explained(provider: string, error: GatewayError): GatewayError {
  if (error instanceof OperatorRefusal) {
    return new OwnKeyRefusal(provider, error.providerStatus, error.marks);
  }
  if (error.code === "model_not_found") return new OwnKeyRefusal(provider, 404, error.marks);
  if (error.code !== "rate_limit_exceeded") return error;
  return error.reworded(`${error.message} (your organisation's own key at ${provider})`);
}

/** Parts of an {@linkcode OwnKeyRouter}. */
export interface OwnKeyRouterOptions {
  readonly router: Router;
  readonly providers: Catalog["providers"];
  /** Names the account at a provider in conversations. */
  readonly accountId: string;
  readonly keys: readonly OpenedOwnKey[];
  /** Hundredths of a per cent of the price. */
  readonly fee: number;
  readonly region: string | undefined;
  readonly random: () => number;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly onRefused: (refusal: OwnKeyRefusal) => void;
}

interface OwnRoute {
  readonly base: Route;
  readonly key: OpenedOwnKey;
}

/** Chooses own routes first. */
export class OwnKeyRouter implements Router {
  readonly #options: OwnKeyRouterOptions;
  readonly #keys: ReadonlyMap<string, OpenedOwnKey>;
  /** By the operator's route of the same model and provider. */
  readonly #routes = new Map<Route, Route>();
  readonly #own = new Map<Route, OwnRoute>();

  constructor(options: OwnKeyRouterOptions) {
    this.#options = options;
    this.#keys = new Map(options.keys.map((key) => [key.provider, key]));
  }

  /** The fee of calls on own routes. */
  get fee(): number {
    return this.#options.fee;
  }

  /** The fee of whatever answers a call of a model; `undefined`: the operator's routes may, at their price. */
  feeOf(model: Pick<Model, "routes">): number | undefined {
    return this.#isOwnOnly(model) ? this.fee : undefined;
  }

  get #router(): Router {
    return this.#options.router;
  }

  /** The key for a route; `undefined`: there is none. */
  #keyFor({ provider }: Route): OpenedOwnKey | undefined {
    const key = this.#keys.get(provider);
    return key !== undefined && takesOwnKeys(this.#options.providers[provider]) ? key : undefined;
  }

  /** Whether calls of a model never go to the operator's routes: a key of it says so. */
  #isOwnOnly({ routes }: Pick<Model, "routes">): boolean {
    return routes.some((route) => this.#keyFor(route)?.fallback === false);
  }

  #ownRoute(base: Route, key: OpenedOwnKey): Route {
    let route = this.#routes.get(base);
    if (route === undefined) {
      const { rateCard: _, ...rest } = base;
      route = { ...rest, ownKey: (error) => explained(key.provider, error) };
      this.#routes.set(base, route);
      this.#own.set(route, { base, key });
    }
    return route;
  }

  candidates(model: Model, wanted: RouteQuery): readonly Route[] {
    const { region, random } = this.#options;
    const choices = model.routes.flatMap((base) => {
      const key = this.#keyFor(base);
      if (key === undefined) return [];
      return [{ route: this.#ownRoute(base, key), firstOutputMs: undefined, inFlight: 0 }];
    });
    const order = wanted.wish?.order ?? [];
    const place = ({ provider }: Route) =>
      order.includes(provider) ? order.indexOf(provider) : order.length;
    const own = orderRoutes(choices, { style: wanted.style, region, random })
      .sort((one, other) => place(one) - place(other));
    const others = this.#isOwnOnly(model) ? [] : this.#router.candidates(model, wanted);
    const ready = [...own.filter((route) => !this.#isResting(route)), ...others];
    // A key that rests is asked all the same where nothing else may serve the call.
    return ready.length > 0 ? ready : own;
  }

  /** Whether the key of an own route rests, since its provider refused it. */
  #isResting(route: Route): boolean {
    const rests = this.#own.get(route)?.key.rests;
    return rests?.hasFresh(this.#options.clock.monotonicMs()) === false;
  }

  begin(route: Route, operation: Operation, preferred?: KeyPreference): RouteAccess {
    return this.#own.has(route)
      ? this.access(route)
      : this.#router.begin(route, operation, preferred);
  }

  access(route: Route, pinned?: string): RouteAccess {
    const own = this.#own.get(route);
    if (own === undefined) return this.#router.access(route, pinned);
    const { secret, problem, provider: name } = own.key;
    if (secret === undefined) {
      throw new GatewayError(
        "upstream_unreachable",
        `The key of your organisation for ${name} ${problem}`,
        {
          retry: false,
        },
      );
    }
    const { provider, transport } = this.#router.access(own.base, secret);
    return {
      provider: withoutOperator(provider),
      secret,
      account: `own ${this.#options.accountId} ${name}`,
      transport,
      onStatus() {},
      mayRepeat: () => false,
    };
  }

  report(
    model: Model,
    route: Route,
    operation: Operation,
    result: AttemptResult,
    customer?: string,
    load?: CallLoad,
  ): void {
    const own = this.#own.get(route);
    if (own === undefined) {
      return this.#router.report(model, route, operation, result, customer, load);
    }
    const { secret = "", rests } = own.key;
    if (result.kind === "ok") rests?.worked(secret);
    const error = result.kind === "failed" ? result.error : undefined;
    if (!(error instanceof OwnKeyRefusal)) return;
    this.#options.onRefused(error);
    // The provider may not know the model, or serve it, for a key that is right for others.
    if (error.marks !== "credential") return;
    rests?.refused(secret, this.#options.clock.monotonicMs(), `status ${error.providerStatus}`);
  }

  called(model: Model, operation: Operation, error: GatewayError | undefined): void {
    this.#router.called(model, operation, error);
  }

  measured(model: Model, operation: Operation, sort: MeasuredSort): number {
    return this.#router.measured(model, operation, sort);
  }

  noteThroughput(route: Route, operation: Operation, outputTokens: number, ms: number): void {
    if (!this.#own.has(route)) this.#router.noteThroughput(route, operation, outputTokens, ms);
  }

  noteFalseReport(route: Route): void {
    if (!this.#own.has(route)) this.#router.noteFalseReport(route);
  }

  hedge(model: Model, operation: Operation, first: Route | undefined): Hedge | undefined {
    return first !== undefined && this.#own.has(first)
      ? undefined
      : this.#router.hedge(model, operation, first);
  }

  slowAfterMs(model: Model, route: Route, load: CallLoad): number {
    return this.#own.has(route) ? maxCallMs : this.#router.slowAfterMs(model, route, load);
  }

  /** A whole answer that is paid for at the organisation's own account gets no second one beside it. */
  mayHedge(model: Model, route: Route, load: CallLoad, waitedMs: number): boolean {
    return !this.#own.has(route) && this.#router.mayHedge(model, route, load, waitedMs);
  }

  retryAfterSeconds(model: Model, operation: Operation, customer?: string): number | undefined {
    return this.#isOwnOnly(model)
      ? undefined
      : this.#router.retryAfterSeconds(model, operation, customer);
  }

  reports(): RouteReport[] {
    return this.#router.reports();
  }

  status(model: Model): ModelStatus {
    return this.#router.status(model);
  }
}
