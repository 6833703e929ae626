/** Acts on webhooks: the same by the pages and by the management API, and bounded in what they send to others. */
import * as fc from "../../support/property.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { defined } from "../../../core/lib/base/defined.ts";
import { hourMs } from "../../../core/lib/time/durations.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import {
  type DestinationKind,
  destinationKinds,
  hasBot,
} from "../../../core/people/webhooks/destinations.ts";
import { webhookKinds } from "../../../core/people/webhooks/events.ts";
import { readConditions } from "../../../kv/people/webhooks/deliveries.ts";
import { listEndpoints, type WebhookEndpoint } from "../../../kv/people/webhooks/endpoints.ts";
import { cameSame, openTwoWays } from "../../support/worlds/two_ways.ts";

type World = Awaited<ReturnType<typeof openTwoWays>>;

/** Fields of an address that a form or a program leaves out. */
const sometimes = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined });

const endpoint = fc.record({
  destination: fc.constantFrom(...destinationKinds),
  token: sometimes(
    fc.constantFrom(" 123456:AAbbCCddEEffGG ", "123456:OtherTokenHere", "no token", "1:a/b"),
  ),
  chatId: sometimes(
    fc.constantFrom("-100123", "@channel", "6ede9afa66b88fe6d6a9", "a b", "x".repeat(90)),
  ),
  url: fc.constantFrom(
    "https://example.com/hooks",
    "https://other.example.com:8443/#part",
    " https://example.com/spaces ",
    "http://example.com/",
    "https://10.0.0.1/",
    "https://user:word@example.com/",
    "https://example.com:22/",
    `https://example.com/${"x".repeat(1_100)}`,
    "no url",
    "",
  ),
  name: fc.oneof(
    fc.constantFrom("", "Books", " Sổ sách ", "x".repeat(80), "x".repeat(81), "two\nlines"),
    fc.string({ unit: "grapheme", maxLength: 90 }),
  ),
  kinds: fc.uniqueArray(fc.constantFrom("no.such", ...webhookKinds), { maxLength: 4 }),
});

/** An act, on the endpoint that has this place in the list. */
const act = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant("create"), fields: endpoint }) },
  fc.record({ do: fc.constant("change"), at: fc.nat(3), fields: endpoint }),
  fc.record({ do: fc.constant("switch"), at: fc.nat(3), on: fc.boolean() }),
  fc.record({ do: fc.constant("rotate"), at: fc.nat(3) }),
  fc.record({ do: fc.constant("test"), at: fc.nat(3), kind: fc.constantFrom(...webhookKinds) }),
  fc.record({ do: fc.constant("again"), at: fc.nat(3), number: fc.constantFrom("1", "0", "x") }),
  fc.record({ do: fc.constant("delete"), at: fc.nat(3) }),
);

type Act = typeof act extends fc.Arbitrary<infer One> ? One : never;

type Fields = typeof endpoint extends fc.Arbitrary<infer One> ? One : never;

/** The fields of the form of a destination, as far as they are filled in: what is left empty of a chat stays as it is. */
function filledIn({ destination: _, ...fields }: Fields, kind: DestinationKind) {
  const { url, token, chatId, name, kinds } = fields;
  if (kind === "webhook") return { url, name, kinds };
  const address = url === "" ? {} : { url };
  return hasBot(kind)
    ? { ...address, name, kinds, ...defined({ token, chatId }) }
    : { ...address, name, kinds };
}

/** Where an act goes to: the id of an endpoint, and what it is. */
interface Target {
  readonly id: string;
  readonly kind: DestinationKind;
}

/** Does an act on the page of an endpoint, or of the list; undefined: there is none. */
async function byPage(world: World, { id, kind }: Target, one: Act) {
  const path = `/webhooks/${id}`;
  if ("fields" in one) {
    const { destination } = one.fields;
    return one.do === "create"
      ? await world.byPage({
        on: `/webhooks/new?to=${destination}`,
        action: "/webhooks",
        fields: filledIn(one.fields, destination),
      })
      : await world.byPage({ on: path, action: path, fields: filledIn(one.fields, kind) });
  }
  if ("on" in one) {
    const fields = { on: one.on ? "yes" : "no" };
    return await world.byPage({ on: path, action: `${path}/switch`, fields });
  }
  if ("kind" in one) {
    return await world.byPage({ on: path, action: `${path}/test`, fields: { kind: one.kind } });
  }
  if ("number" in one) {
    return await world.byPage({ on: path, action: `${path}/deliveries/${one.number}/again` });
  }
  return await world.byPage({ on: path, action: `${path}/${one.do}` });
}

async function byProgram(world: World, { id, kind }: Target, one: Act) {
  const path = `/webhooks/${id}`;
  if ("fields" in one) {
    const { destination } = one.fields;
    const { chatId, ...fields }: Partial<Fields> = filledIn(
      one.fields,
      one.do === "create" ? destination : kind,
    );
    const body = { ...fields, ...defined({ chat_id: chatId }) };
    return one.do === "create"
      ? await world.byProgram({ method: "POST", path: "/webhooks", body: { ...body, destination } })
      : await world.byProgram({ method: "PATCH", path, body });
  }
  if ("on" in one) {
    return await world.byProgram({ method: "PATCH", path, body: { is_on: one.on } });
  }
  if ("kind" in one) {
    return await world.byProgram({
      method: "POST",
      path: `${path}/test`,
      body: { kind: one.kind },
    });
  }
  if ("number" in one) {
    return await world.byProgram({
      method: "POST",
      path: `${path}/deliveries/${one.number}/again`,
    });
  }
  return one.do === "delete"
    ? await world.byProgram({ method: "DELETE", path })
    : await world.byProgram({ method: "POST", path: `${path}/rotate` });
}

function targetOf(endpoint: WebhookEndpoint | undefined): Target {
  return { id: endpoint?.id ?? "", kind: endpoint?.chat ?? "webhook" };
}

/** What an organisation has, without ids. */
async function stateOf({ kv, activityOf }: World, account: AccountId) {
  const listed = await readConditions(kv, account, await listEndpoints(kv, account));
  return {
    endpoints: listed.map(({ endpoint: { id: _, ...rest }, waiting }) => ({ ...rest, waiting })),
    activity: await activityOf(account),
  };
}

Deno.test("any sequence of acts on webhooks does the same by pages and by the management API", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 1, maxLength: 12 }), async (acts) => {
      await using world = await openTwoWays();
      for (const one of acts) {
        const at = "at" in one ? one.at : 0;
        const pages = await listEndpoints(world.kv, world.page);
        const programs = await listEndpoints(world.kv, world.program);
        const [onPage, ofProgram] = [targetOf(pages[at]), targetOf(programs[at])];
        if ("at" in one && onPage.id === "") continue;
        const page = await byPage(world, onPage, one);
        const program = await byProgram(world, ofProgram, one);
        assert(cameSame(page, program), JSON.stringify({ one, page, program }));
        world.time.advance(1_000);
        assertEquals(await stateOf(world, world.program), await stateOf(world, world.page));
      }
    }),
    { numRuns: 40 },
  );
});

Deno.test("tests and events that are sent again are bounded, by pages and by a program together", async () => {
  await using world = await openTwoWays();
  const path = "/webhooks";
  const body = { url: "https://example.com/hooks", name: "", kinds: ["key.created"] };
  assertEquals(await world.byPage({ on: "/webhooks/new", action: path, fields: body }), "done");
  assertEquals(await world.byProgram({ method: "POST", path, body }), "done");
  const [onPage] = await listEndpoints(world.kv, world.page);
  const [ofProgram] = await listEndpoints(world.kv, world.program);
  for (
    const [account, target] of [
      [world.page, targetOf(onPage)],
      [world.program, targetOf(ofProgram)],
    ] as const
  ) {
    let sent = 0;
    for (let i = 0; i < 70; i++) {
      const one = { do: "test", at: 0, kind: "key.created" } as const;
      const came = account === world.page
        ? await byPage(world, target, one)
        : await byProgram(world, target, one);
      if (came === "done") sent++;
      else assertEquals(came, "spent");
    }
    assertEquals(sent, 60);
  }
  world.time.advance(hourMs);
  const one = { do: "test", at: 0, kind: "key.created" } as const;
  assertEquals(await byProgram(world, targetOf(ofProgram), one), "done");
});

Deno.test("a token goes to no chat or server but that for which it was entered, and no answer has it", async () => {
  await using world = await openTwoWays();
  const path = "/webhooks";
  const bot = { token: "123456:AAbbCCddEEff", chat_id: "-1001", kinds: ["key.created"] };
  for (const destination of ["telegram", "zalo"]) {
    const body = { ...bot, destination };
    assertEquals(await world.byProgram({ method: "POST", path, body }), "done");
  }
  const slack = {
    destination: "slack",
    url: "https://hooks.slack.example/services/SecretPart",
    kinds: bot.kinds,
  };
  assertEquals(await world.byProgram({ method: "POST", path, body: slack }), "done");
  const listed = await listEndpoints(world.kv, world.program);
  assertEquals(listed.map(({ chat, url, chatId }) => [chat, url, chatId]), [
    ["telegram", "https://api.telegram.org", "-1001"],
    ["zalo", "https://bot-api.zaloplatforms.com", "-1001"],
    ["slack", "https://hooks.slack.example/…", undefined],
  ]);
  assert(!/AAbb|SecretPart/.test(JSON.stringify(await world.activityOf(world.program))));
  const change = async (at: number, body: Record<string, string>) =>
    await world.byProgram({ method: "PATCH", path: `${path}/${listed[at]!.id}`, body });
  for (const at of [0, 1]) {
    assertEquals(await change(at, { chat_id: "-1002" }), ["token"]);
    assertEquals(await change(at, { url: "https://other.example.com" }), ["token"]);
    // As it is, with a path that is not kept.
    assertEquals(await change(at, { url: `${listed[at]!.url}/bot123456:AAbbCCddEEff` }), "done");
    assertEquals(await change(at, { chat_id: "-1002", token: "123456:AAbbCCddEEff" }), "done");
  }
  assertEquals(await change(2, { token: bot.token }), ["chat_id"]);
  assertEquals(await change(2, { url: "https://10.0.0.1/services/SecretPart" }), ["url"]);
  const now = await listEndpoints(world.kv, world.program);
  assertEquals(now.map(({ chatId }) => chatId), ["-1002", "-1002", undefined]);
});

Deno.test("a program hears the names that it has sent", async () => {
  await using world = await openTwoWays();
  const body = { url: "https://example.com/hooks", kinds: ["key.created"] };
  const names = ["isOn", "is_on", "URL", "amount_vnd", "_url"];
  for (const name of names) {
    const sent = { method: "POST", path: "/webhooks", body: { ...body, [name]: 1 } };
    assertEquals(await world.byProgram(sent), [name]);
  }
});
