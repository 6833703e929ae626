/**
 * The first steps of every API call: maintenance, authentication, reading the body; and the trace of a call that ends
 * there or at a later refusal, without a receipt: a log line, and a row that the customer can find.
 *
 * - Folder `routes/api/call/`: what calls of every kind share: authentication, admission, reservation, idempotency,
 *   headers, settlement.
 * - In: requests whose path is known, and the outcome of their attempts.
 * - Out: an admitted call with its reservation; one settlement with one receipt; answers with their headers.
 * - Never: settles a call twice, or reads the wire format of an endpoint.
 */
import { type TextRule, withTextRules } from "../../../core/calls/request/text_rules.ts";
import { multipartBoundary } from "../../../core/calls/body/multipart.ts";
import type { BufferedAnswer } from "../../../core/lib/bytes/answer_budget.ts";
import type { BufferedBody } from "../../../core/lib/bytes/body_budget.ts";
import { type ErrorStyle, GatewayError, wireStatus } from "../../../core/lib/errors/errors.ts";
import { maxRequestBodyBytes } from "../../../core/lib/base/limits.ts";
import { idTimeMs, type RequestId } from "../../../core/lib/ids/ids.ts";
import { maintenanceRetrySeconds } from "../../../core/routing/health/limits.ts";
import type { RateFigures } from "../../../core/limits/rate_book.ts";
import { mayBeFree } from "../../../core/billing/price.ts";
import type { Principal, RefusedCaller } from "../../../kv/people/api_keys/key_directory.ts";
import type { ReserveResult } from "../../../kv/money/wallet/mod.ts";
import { onceStoreIsBack, storeLookMs } from "../../../kv/engine/store/store_wait.ts";
import { StoreUnavailableError } from "../../../kv/engine/store/store_unavailable.ts";
import { authenticate } from "../../http/authenticate.ts";
import { type BodyAdmission, readRequestBody } from "../../http/body/request_body.ts";
import type { HttpRequest } from "../../http/body/http_request.ts";
import { type ChosenModel, unpaidError } from "./admission.ts";
import type { KeyedCall } from "../gateway/keyed_call.ts";
import type { Gateway } from "../gateway/gateway.ts";
import { unforeseen } from "../../../core/lib/base/assert.ts";
import { defined } from "../../../core/lib/base/defined.ts";
import { knownError } from "../../http/error_response.ts";

/** A request as the server passes it on, with what the following steps learn about it. */
export interface Incoming extends RefusedCaller {
  readonly request: HttpRequest;
  readonly requestId: RequestId;
  /** IP address of the client, as far as it is known. */
  readonly clientAddress: string;
  /** Whether it is the first request of its connection, as far as is known. */
  readonly isFirstOfConnection: boolean;
  /** The caller, once it is known. */
  principal?: Principal;
  /** The call was admitted: its receipt and its log line will describe its end. */
  isAdmitted?: true;
  /** The counted memory of a large body; absent for a small one. Released when the endpoint has answered. */
  bufferedBody?: BufferedBody;
  /** Set if the client sent an idempotency key and this call is the first with it. */
  keyedCall?: KeyedCall;
  /** The rules that masked text of the request. */
  masked?: readonly string[];
  /** The model that the call is for, once it is known. */
  chosen?: ChosenModel;
  /** The rate limits that bind the call, where any do. */
  rateFigures?: RateFigures | undefined;
  /** The counted memory of the answer, if it is read whole. */
  answer?: BufferedAnswer;
}

/** A request with a known caller and a body that was read. */
export interface AuthenticatedRequest {
  readonly body: Uint8Array;
  readonly principal: Principal;
}

/** Whether the endpoint charges. A free one accepts a large body for an empty wallet, too. */
type Charging = "paid" | "free";

/** Options for admitting a request. */
interface AdmissionOptions {
  /** Default: `paid`. */
  readonly charging?: Charging;
  /** Bytes of the largest body; default: that of the chat endpoints. */
  readonly maxBytes?: number;
}

/**
 * Authenticates the caller before a body is kept, so that requests without a valid key cannot hold 20 MB each. The
 * body of a refused request is read and discarded, since with an unread one the server would reset the connection.
 *
 * @throws {GatewayError} `maintenance`, `request_too_large`, `invalid_api_key`, `unsupported_media_type`, `busy` …
 */
export async function admitRequest(
  gateway: Gateway,
  incoming: Incoming,
  { charging = "paid", maxBytes = maxRequestBodyBytes }: AdmissionOptions = {},
): Promise<AuthenticatedRequest> {
  const { request } = incoming;
  let principal: Principal;
  try {
    const admitted = admitCaller(gateway, incoming);
    incoming.principal = principal = admitted instanceof Promise ? await admitted : admitted;
    requirePlainBody(request.headers);
  } catch (error) {
    await gateway.refusedBodies.discard(request, incoming.clientAddress);
    throw error;
  }
  const body = await readRequestBody(request, gateway.deadlines, {
    maxBytes,
    admission: new LargeBodyAdmission(gateway, incoming, principal, charging),
    isReadWidely: incoming.isFirstOfConnection,
  });
  const texts = principal.callRules?.texts;
  return { body: texts === undefined ? body : await ruled(incoming, texts, body), principal };
}

/** Applies the rules of a key's settings to the text of a request. */
async function ruled(
  incoming: Incoming,
  rules: readonly TextRule[],
  body: Uint8Array,
): Promise<Uint8Array> {
  if (body.length === 0) return body;
  try {
    const boundary = multipartBoundary(incoming.request.headers.get("content-type") ?? "");
    const { bytes, masked } = await withTextRules(body, rules, boundary);
    if (masked.length > 0) incoming.masked = masked;
    return bytes;
  } catch (error) {
    // The endpoint says what is wrong with it, and sends it nowhere.
    const isUnreadable = error instanceof GatewayError &&
      (error.code === "invalid_json" || error.code === "invalid_request");
    if (isUnreadable) return body;
    throw error;
  }
}

/**
 * Admits a large body: the wallet must not be empty, then memory must be free. One object for each call, without
 * closures.
 */
class LargeBodyAdmission implements BodyAdmission {
  readonly #gateway: Gateway;
  readonly #incoming: Incoming;
  readonly #principal: Principal;
  readonly #charging: Charging;

  constructor(gateway: Gateway, incoming: Incoming, principal: Principal, charging: Charging) {
    this.#gateway = gateway;
    this.#incoming = incoming;
    this.#principal = principal;
    this.#charging = charging;
  }

  begin(declaredBytes = 0): Promise<void> | undefined {
    const gateway = this.#gateway;
    const principal = this.#principal;
    const bufferedBody = this.#incoming.bufferedBody ??= gateway.bodies.body(principal.accountId);
    const isFree = this.#charging === "free" || mayCallForNothing(gateway, principal);
    const solvency = isFree ? undefined : requireMoney(gateway, principal);
    return solvency === undefined
      ? bufferedBody.declare(declaredBytes)
      : solvency.then(() => bufferedBody.declare(declaredBytes));
  }

  grow(bytes: number): Promise<void> | undefined {
    return this.#incoming.bufferedBody?.grow(bytes);
  }

  whole(): void {
    this.#incoming.bufferedBody?.whole();
  }

  release(): void {
    this.#incoming.bufferedBody?.release();
  }
}

/** Whether a caller may use a model at a price of 0: which model a body names is known only when it was read. */
function mayCallForNothing({ catalog }: Gateway, { allowedModels }: Principal): boolean {
  return catalog.current.models.some(({ id, price }) =>
    mayBeFree(price) && allowedModels?.has(id) !== false
  );
}

/** The smallest amount. With it an account may send a large body; whether it can pay for the call is decided later. */
const anyMicroVnd = 1n;

/**
 * Requires a positive balance; synchronous while this instance holds a lease of the account. Money that other
 * calls reserve counts as well: they may be over when the body is complete.
 */
function requireMoney({ wallet }: Gateway, { accountId }: Principal): Promise<void> | undefined {
  const judge = (result: ReserveResult): void => {
    if (result.ok) return wallet.release(result.reservation);
    if (result.reason === "unavailable") throw unpaidError(result);
    if (result.reason === "insufficient") throw noMoney();
  };
  const reserved = wallet.reserve(accountId, anyMicroVnd, 0);
  return reserved instanceof Promise ? reserved.then(judge) : void judge(reserved);
}

function noMoney(): GatewayError {
  return new GatewayError(
    "insufficient_balance",
    "Insufficient balance: the wallet is empty, and a request of this size is read only for a wallet that can pay. " +
      "Top up and continue with the same key",
  );
}

function admitCaller(gateway: Gateway, incoming: Incoming): Principal | Promise<Principal> {
  // After a pause the switches are not known: they are read with the epoch of keys.
  return gateway.control.freshKeysEpoch() === undefined
    ? catchUp(gateway).then(() => admitKnown(gateway, incoming))
    : admitKnown(gateway, incoming);
}

/** Reads the switches and the epoch. While the store is away it waits for it, as the wallet does for calls. */
async function catchUp({ control, clock, deadlines, config }: Gateway): Promise<void> {
  const ask = () =>
    control.catchUp().catch((error: unknown) => {
      if (error instanceof StoreUnavailableError) return error;
      throw error;
    });
  const failure = await onceStoreIsBack(
    {
      clock,
      waitMs: config.storeWaitMs,
      nextLook: () => new Promise((resolve) => deadlines.create(resolve).arm(storeLookMs)),
    },
    await ask(),
    { isAway: (answer) => answer !== undefined, ask },
  );
  if (failure !== undefined) throw failure;
}

function admitKnown(gateway: Gateway, incoming: Incoming): Principal | Promise<Principal> {
  const { maintenance } = gateway.control.switches;
  if (maintenance !== undefined) {
    throw new GatewayError("maintenance", maintenance.message, {
      retryAfterSeconds: maintenanceRetrySeconds,
    });
  }
  const { request, clientAddress } = incoming;
  return authenticate(request.headers, gateway.directory, clientAddress, incoming);
}

/** Refuses compressed bodies. Otherwise the error would be about invalid UTF-8, which hides the cause. */
function requirePlainBody(headers: HttpRequest["headers"]): void {
  const encoding = headers.get("content-encoding");
  if (encoding === null || encoding.trim().toLowerCase() === "identity") return;
  throw new GatewayError(
    "unsupported_media_type",
    "content-encoding: request bodies are taken as they are, not compressed",
    { param: "content-encoding" },
  );
}

/**
 * Refuses bodies that are not declared as JSON.
 *
 * @throws {GatewayError} `unsupported_media_type`
 */
export function requireJson(request: Pick<HttpRequest, "headers">): void {
  const contentType = request.headers.get("content-type");
  if (contentType !== null && /^application\/([a-z0-9.+-]+\+)?json\s*(;|$)/i.test(contentType)) {
    return;
  }
  throw new GatewayError(
    "unsupported_media_type",
    "The content type must be application/json",
    { param: "content-type" },
  );
}

/** Versions of the Messages style that SDKs send today. */
const knownVersions: ReadonlySet<string> = new Set(["2023-01-01", "2023-06-01", "2026-10-21"]);

function isKnownVersion(name: string, version: string): boolean {
  if (knownVersions.has(version)) return true;
  // Official SDKs may send newer versions: under the vendor's header name any date passes, and the provider checks
  // it. Under our own name only known versions pass.
  return name === "anthropic-version" && /^20\d\d-\d\d-\d\d$/.test(version) &&
    version > "2023-01-01";
}

/**
 * Checks the version header of the Messages style; optional, under either name.
 *
 * @throws {GatewayError} `invalid_request` for a version that does not exist
 */
export function checkVersion(headers: HttpRequest["headers"]): void {
  for (const name of ["compat-version", "anthropic-version"]) {
    const version = headers.get(name);
    if (version !== null && !isKnownVersion(name, version)) {
      throw new GatewayError("invalid_request", `${name}: unknown version; use 2023-06-01`, {
        param: name,
      });
    }
  }
}

/** Endpoint and model that were called. */
interface Called {
  /** The served path, without what the caller may have written behind it. */
  readonly endpoint: string | undefined;
  readonly style: ErrorStyle;
}

/**
 * Logs a call that failed without a receipt, and keeps it if the caller's key is known. Each error code has a message,
 * and so a budget, of its own in the log: a flood of wrong keys does not hide an empty wallet.
 */
export function traceFailure(
  gateway: Gateway,
  incoming: Incoming,
  called: Called,
  error: unknown,
): void {
  const { requestId, principal, isAdmitted } = incoming;
  if (!(error instanceof GatewayError)) {
    const fields = { request_id: requestId, ...unforeseen(error) };
    gateway.log.event("error", "unexpected error", fields);
  }
  // Its receipt and its line describe its end.
  if (isAdmitted === true) return;
  keep(gateway, incoming, called, error);
  const known = knownError(error);
  const status = wireStatus(known, called.style);
  if (called.endpoint !== undefined) {
    gateway.observer.refused({ endpoint: called.endpoint, status, code: known.code });
  }
  if (!(error instanceof GatewayError)) return;
  gateway.log.event("info", `call refused: ${error.code}`, {
    request_id: requestId,
    endpoint: called.endpoint,
    status,
    ...(principal && { account_id: principal.accountId, key_id: principal.key.id }),
  });
}

function keep(
  { refusedCalls, clock }: Gateway,
  { requestId, principal, refusedKey, chosen }: Incoming,
  { endpoint, style }: Called,
  error: unknown,
): void {
  const key = principal === undefined
    ? refusedKey
    : { accountId: principal.accountId, keyId: principal.key.id };
  if (key === undefined) return;
  const known = knownError(error);
  const atMs = idTimeMs("request", requestId);
  refusedCalls.add({
    ...key,
    requestId,
    atMs,
    latencyMs: Math.max(0, clock.nowMs() - atMs),
    status: wireStatus(known, style),
    code: known.code,
    message: known.message,
    ...defined({ endpoint, model: chosen?.model.id, figures: known.figures }),
  });
}
