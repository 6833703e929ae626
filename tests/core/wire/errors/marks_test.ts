/** Only what is about the route marks a route: one customer's requests, whatever they hold, never change another's. */
import * as fc from "../../../support/property.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { ManualTime } from "../../../support/manual_time.ts";
import { Deadlines } from "../../../../core/lib/time/deadlines.ts";
import { buildCatalog } from "../../../../core/catalog/catalog.ts";
import { gatewayFileSchema } from "../../../../core/catalog/schema.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import type { Json } from "../../../../core/lib/json/json.ts";
import { LiveRouter } from "../../../../core/routing/live_router.ts";
import { decodeProviderError } from "../../../../core/wire/convert/provider_errors.ts";
import { consequences, type ErrorKind } from "../../../../core/wire/errors/table/kinds.ts";
import { providerStyles } from "../conversion/provider_answers.ts";
import { bodyOf, examples } from "./vendor_bodies.ts";

const operation = "chat_stream";
const names = ["a", "b"];

/** A router of two routes with two keys each, and what its customers see. */
function newWorld() {
  const built = buildCatalog(gatewayFileSchema.parse({
    defaultModel: "m",
    providers: Object.fromEntries(
      names.map((
        name,
      ) => [name, { kind: "http", baseUrl: `https://${name}.example`, apiKeyEnv: "KEY" }]),
    ),
    models: [{
      id: "m",
      kind: "chat",
      family: "f",
      price: { unit: "request", vnd: 1 },
      routes: names.map((provider, priority) => ({ provider, priority })),
    }],
  }));
  if (!built.ok) throw new Error(built.problems.join());
  const { catalog } = built;
  const time = new ManualTime();
  const router = new LiveRouter({
    catalog,
    providerKeys: Object.fromEntries(names.map((name) => [name, [`${name}-1`, `${name}-2`]])),
    transportOf: () => ({
      open: () => ({ response: Promise.withResolvers<never>().promise, cancel: () => {} }),
    }),
    clock: time,
    deadlines: new Deadlines({ clock: time, timer: time }),
    random: () => 0.5,
    region: undefined,
    switchOf: () => undefined,
    onEvent: () => {},
  });
  const model = catalog.models[0]!;
  const [first] = model.routes;
  assert(first !== undefined, "two routes");
  return {
    /** A call of a customer that the first route answers with an error. */
    refuse(customer: string, status: number, error: GatewayError) {
      const access = router.begin(first, operation);
      access.onStatus(status, error.retryAfterSeconds, error.marks);
      router.report(model, first, operation, { kind: "failed", ms: 1, error }, customer);
      time.advance(10);
    },
    /** What another customer meets: the routes in their order, the public state, and the keys that rest. */
    seenBy: (customer: string) => ({
      routes: router.candidates(model, { style: "chat", operation, customer })
        .map(({ provider }) => provider),
      state: router.status(model).state,
      resting: router.reports().map(({ credentials }) => credentials.resting),
    }),
  };
}

/** Calls of one customer in a row, more than any breaker waits for. */
const calls = 20;

const untouched = { routes: names, state: "up", resting: [0, 0] };

function seenAfter(status: number, error: GatewayError): unknown {
  const world = newWorld();
  for (let call = 0; call < calls; call++) world.refuse("one", status, error);
  return world.seenBy("another");
}

/** Kinds that a request can bring about. */
const byRequest: readonly ErrorKind[] = [
  "request",
  "missing",
  "too_large",
  "content",
  "prompt",
  "cap",
  "ability",
  "afford",
  "access",
  "model",
  "beyond_rate",
  "unusable",
];

Deno.test("no row that a request can bring about changes what another customer meets", () => {
  let tried = 0;
  for (const { vendor, row } of examples) {
    if (!byRequest.includes(row.kind) || row.status < 400) continue;
    const body = JSON.stringify(bodyOf(vendor, row));
    for (const native of [false, true]) {
      const error = decodeProviderError("chat", row.status, body, { native });
      assertEquals(seenAfter(row.status, error), untouched, `${vendor.vendor}: ${row.says}`);
    }
    tried++;
  }
  assert(tried > 200, String(tried));
});

Deno.test("a rate limit rests the customer who met it, and no other", () => {
  for (const { vendor, row } of examples) {
    if (row.kind !== "rate" || row.status < 400) continue;
    const error = decodeProviderError("chat", row.status, JSON.stringify(bodyOf(vendor, row)));
    const world = newWorld();
    for (let call = 0; call < calls; call++) world.refuse("one", row.status, error);
    assertEquals(world.seenBy("another").routes, names, row.says);
  }
});

Deno.test("what is about the account or the route marks it; a dispute does once a second customer has it", () => {
  for (const kind of ["account", "broken", "capacity", "unavailable", "timeout"] as const) {
    const found = examples.find(({ row }) => row.kind === kind && row.status >= 400);
    assert(found !== undefined, kind);
    const { vendor, row } = found;
    const error = decodeProviderError("chat", row.status, JSON.stringify(bodyOf(vendor, row)));
    const world = newWorld();
    for (let call = 0; call < calls; call++) world.refuse("one", row.status, error);
    assertEquals(world.seenBy("another").routes, ["b"], kind);
  }
  const disputed = decodeProviderError("chat", 403, "{}");
  assertEquals(disputed.marks, consequences.access.marks);
  const world = newWorld();
  for (let call = 0; call < calls; call++) world.refuse("one", 403, disputed);
  assertEquals(world.seenBy("one").routes, ["b", "a"], "the customer tries the other route first");
  assertEquals(world.seenBy("another").routes, names);
  for (let call = 0; call < calls; call++) world.refuse("two", 403, disputed);
  assertEquals(world.seenBy("another").routes, ["b"]);
});

/** What vendors write before something of the client's. */
const quoting: readonly ((text: string) => string)[] = [
  (text) => `Invalid value: '${text}'. Supported values are: 'user'`,
  (text) => `messages.0.content: ${text}`,
  (text) => `tools.0.custom.name: '${text}' is already in use`,
  (text) => `Input tag '${text}' found using 'type' does not match any of the expected tags`,
  (text) => `Invalid schema for function '${text}': array schema missing items.`,
  (text) => `metadata.${text}: string too long`,
  (text) => `Unknown parameter: '${text}'.`,
  (text) => `Unexpected value ${JSON.stringify(text)}`,
];

/** Bodies of validating servers and others, with a text of the client's in them. */
const bodies: readonly ((text: string) => Json)[] = [
  (message) => ({ error: { message, type: "invalid_request_error", param: null, code: null } }),
  (message) => ({ type: "error", error: { type: "invalid_request_error", message } }),
  (message) => ({ error: { code: 400, message, status: "INVALID_ARGUMENT" } }),
  (message) => ({ message }),
  (detail) => ({ detail }),
  (error) => ({ error }),
  (msg) => ({ detail: [{ loc: ["body", "x"], msg, type: "value_error", input: msg }] }),
  (text) => ({ detail: [{ loc: ["body", text], msg: "Extra inputs are not permitted" }] }),
  (text) => ({
    message: { detail: [{ loc: ["body", text], msg: "Extra inputs are not permitted" }] },
  }),
];

/** Statuses that vendors have for requests. */
const statuses = [400, 403, 404, 413, 415, 422, 424, 451];

const texts = [...new Set(examples.map(({ row }) => row.says))];

Deno.test("a text of the client's that a vendor quotes decides nothing", () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.constantFrom(...texts), fc.string({ unit: "grapheme", maxLength: 300 })),
      fc.constantFrom(...quoting),
      fc.constantFrom(...bodies),
      fc.constantFrom(...statuses),
      fc.constantFrom(...providerStyles),
      (text, quote, body, status, style) => {
        const json = JSON.stringify(body(quote(text)));
        const error = decodeProviderError(style, status, json);
        const bare = decodeProviderError(style, status, JSON.stringify(body("x")));
        assertEquals([error.code, error.marks], [bare.code, bare.marks], json);
        assertEquals(seenAfter(status, error), untouched, json);
      },
    ),
    { numRuns: 2_000 },
  );
});

Deno.test("a client's field that is named like an error of a library hides no text behind it", () => {
  const names = ["metadata.FooError", "metadata.litellm.BadRequestError", "body.user.XException"];
  for (const name of [...names, ...names.map((inner) => `Error: ${inner}`)]) {
    const message = `${name}: Your account is suspended`;
    const { code, marks } = decodeProviderError(
      "chat",
      400,
      JSON.stringify({ error: { message } }),
    );
    assertEquals([code, marks], ["invalid_request", "nothing"], message);
  }
});

Deno.test("whatever a body holds, it is read, and no request's status marks a route for others", () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.json(), fc.string({ maxLength: 2_000 })),
      fc.constantFrom(...statuses),
      (text, status) => {
        const error = decodeProviderError("chat", status, text);
        assertEquals(seenAfter(status, error), untouched, text);
      },
    ),
    { numRuns: 2_000 },
  );
});
