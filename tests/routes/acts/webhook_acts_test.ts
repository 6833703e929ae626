/** Acts on webhooks: the same by the pages and by the management API, and bounded in what they send to others. */
import * as fc from "../../support/property.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { hourMs } from "../../../core/lib/time/durations.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { webhookKinds } from "../../../core/people/webhooks/events.ts";
import { readConditions } from "../../../kv/people/webhooks/deliveries.ts";
import { listEndpoints } from "../../../kv/people/webhooks/endpoints.ts";
import { cameSame, openTwoWays } from "../../support/worlds/two_ways.ts";

type World = Awaited<ReturnType<typeof openTwoWays>>;

const endpoint = fc.record({
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

/** Does an act on the page of an endpoint, or of the list; undefined: there is none. */
async function byPage(world: World, id: string, one: Act) {
  const path = `/webhooks/${id}`;
  if ("fields" in one) {
    return one.do === "create"
      ? await world.byPage({ on: "/webhooks/new", action: "/webhooks", fields: one.fields })
      : await world.byPage({ on: path, action: path, fields: one.fields });
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

async function byProgram(world: World, id: string, one: Act) {
  const path = `/webhooks/${id}`;
  if ("fields" in one) {
    return one.do === "create"
      ? await world.byProgram({ method: "POST", path: "/webhooks", body: one.fields })
      : await world.byProgram({ method: "PATCH", path, body: one.fields });
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
        const [onPage, ofProgram] = [pages[at]?.id ?? "", programs[at]?.id ?? ""];
        if ("at" in one && onPage === "") continue;
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
  for (const [account, id] of [[world.page, onPage!.id], [world.program, ofProgram!.id]] as const) {
    let sent = 0;
    for (let i = 0; i < 70; i++) {
      const one = { do: "test", at: 0, kind: "key.created" } as const;
      const came = account === world.page
        ? await byPage(world, id, one)
        : await byProgram(world, id, one);
      if (came === "done") sent++;
      else assertEquals(came, "spent");
    }
    assertEquals(sent, 60);
  }
  world.time.advance(hourMs);
  const one = { do: "test", at: 0, kind: "key.created" } as const;
  assertEquals(await byProgram(world, ofProgram!.id, one), "done");
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
