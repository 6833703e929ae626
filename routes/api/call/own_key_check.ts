/** Finds out whether a provider takes a key that an organisation enters, by a request that costs nothing. */
import { modelListRequest } from "../../../core/calls/exchange/provider_request.ts";
import { parseWithinDepth } from "../../../core/lib/json/exact_json.ts";
import type { Json } from "../../../core/lib/json/json.ts";
import { maxErrorBodyBytes, readBeginning } from "../../../core/net/transport/read_whole.ts";
import { withoutOperator } from "../../../core/routing/own_key_router.ts";
import { errorOf } from "../../../core/wire/errors/provider_error.ts";
import type { OwnKeyVerdict } from "../../acts/own_keys.ts";
import type { Gateway } from "../gateway/gateway.ts";

/** Milliseconds to wait for the answer: somebody waits before a form. */
const answerMs = 10_000;

function jsonOf(bytes: Uint8Array): Json | undefined {
  try {
    return parseWithinDepth(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}

/**
 * Asks a provider for its models with a key. Only an error about the key itself is a refusal: some keys may call models
 * and not list them, and some servers have no list.
 */
export async function checkOwnKey(
  { catalog, router, deadlines }: Pick<Gateway, "catalog" | "router" | "deadlines">,
  provider: string,
  secret: string,
): Promise<OwnKeyVerdict> {
  const route = catalog.current.models.flatMap(({ routes }) => routes)
    .find((one) => one.provider === provider);
  if (route === undefined) return "unknown";
  const { provider: entry, transport } = router.access(route, secret);
  if (entry.kind === "sandbox") return "accepted";
  const request = modelListRequest(withoutOperator(entry), route.style, secret);
  if (request === undefined) return "unknown";
  const exchange = transport.open(request);
  const deadline = deadlines.create(() => exchange.cancel());
  deadline.arm(answerMs);
  try {
    const { status, body } = await exchange.response;
    const bytes = await readBeginning(body, maxErrorBodyBytes);
    exchange.cancel();
    if (status >= 200 && status < 300) return "accepted";
    return errorOf(jsonOf(bytes), { status }).marks === "credential" ? "refused" : "unknown";
  } catch {
    exchange.cancel();
    return "unknown"; // calls show whether it works
  } finally {
    deadline.disarm();
  }
}
