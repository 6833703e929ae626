/** Settings of calls by page and by program: what one writes, the other shows, and calls follow. */
import { assert, assertEquals } from "../../support/assert.ts";
import { getAccount } from "../../../kv/people/accounts/accounts.ts";
import { createApiKey } from "../../../kv/people/api_keys/api_key_changes.ts";
import { listApiKeys } from "../../../kv/people/api_keys/api_keys.ts";
import { findActivity } from "../../../kv/people/audit/account_activity.ts";
import { readPreset } from "../../../kv/people/organisations/presets.ts";
import { createTeam, listTeams } from "../../../kv/people/organisations/teams.ts";
import { openManagementWorld } from "../../support/worlds/management_world.ts";
import { openDashboardWorld } from "../../support/worlds/dashboard_world.ts";

const settings = {
  models: ["general-01"],
  order: ["sandbox"],
  only: ["sandbox"],
  regions: ["vn"],
  allow_fallbacks: false,
  sort: "latency",
  data_collection: "deny",
  zdr: true,
  max_price: { prompt: 9_000, completion: 0 },
  cost_in_usage: true,
  auto_cache: false,
  no_images: true,
  no_files: true,
  mcp_servers: ["mcp.example.com"],
  rules: [
    { name: "card", action: "mask", pattern: "[0-9]{16}" },
    { name: "secret.word", action: "refuse", pattern: "(?i)\\bsecret plan\\b" },
  ],
};

Deno.test("a program sets how calls of an organisation, a team and a key are served", async () => {
  await using world = await openManagementWorld();
  const { kv, owner, send } = world;
  const team = await createTeam(kv, owner.id, { name: "Search", nowMs: world.time.nowMs() });
  assert(typeof team === "object");
  const path = "/call-settings";
  assertEquals((await send("GET", path)).body.calls, {});
  const whole = { ...settings, allowed_models: ["general-01"] };
  const set = await send("PATCH", path, { body: { calls: whole } });
  assertEquals([set.status, set.body.calls], [200, whole]);
  const some = { calls: { ignore: ["sandbox"], mcp_servers: [] } };
  const ofTeam = await send("PATCH", path, { body: { ...some, team_id: team.id } });
  assertEquals([ofTeam.body.team_id, ofTeam.body.calls], [team.id, some.calls]);
  const all = (await send("GET", path)).body;
  assertEquals(all.calls, whole);
  assertEquals(all.teams, [{ team_id: team.id, ...some }]);
  const key = (await send("POST", "/keys", { body: { name: "k", calls: settings } })).body;
  assertEquals(key.calls, settings);
  const renamed = await send("PATCH", `/keys/${key.id}`, { body: { name: "other" } });
  assertEquals(renamed.body.calls, settings, "what is left out stays");
  const cleared = await send("PATCH", `/keys/${key.id}`, { body: { calls: null } });
  assertEquals(cleared.body.calls, undefined);
  await send("PATCH", path, { body: { calls: {} } });
  assertEquals((await getAccount(kv, owner.id))?.calls, undefined);
  const { lines } = await findActivity(kv, owner.id, { count: 50 });
  assertEquals(lines.filter(({ act }) => act === "call_settings_changed").length, 3);
  for (
    const [calls, param] of [
      [{ only: ["nobody"] }, "calls.only"],
      [{ models: ["no-such-model"] }, "calls.models"],
      [{ allowed_models: ["no-such-model"] }, "calls.allowed_models"],
      [{ max_price: { prompt: -1 } }, "calls.max_price.prompt"],
      [{ sort: "beauty" }, "calls.sort"],
      [{ rules: [{ name: "a b", action: "mask", pattern: "x" }] }, "calls.rules.0.name"],
      [{ rules: [{ name: "a", action: "log", pattern: "x" }] }, "calls.rules.0.action"],
      [{ rules: [{ name: "a", action: "mask", pattern: "(a*)*" }] }, "calls.rules.0.pattern"],
      [{ rules: Array(11).fill({ name: "a", action: "mask", pattern: "x" }) }, "calls.rules"],
      [{ order: Array.from({ length: 17 }, (_, i) => `p${i}`) }, "calls.order"],
      [{ mcp_servers: ["https://mcp.example.com/"] }, "calls.mcp_servers.0"],
      [{ require: true }, "calls.require"],
    ] as const
  ) {
    const { status, body } = await send("PATCH", path, { body: { calls } });
    assertEquals([status, body.error.param], [400, param]);
  }
});

Deno.test("the pages of an organisation, a team and a key write what programs read", async () => {
  await using world = await openDashboardWorld();
  const { kv } = world;
  const { browser, account } = await world.signIn();
  await createTeam(kv, account.id, { name: "Search", nowMs: world.time.nowMs() });
  await createApiKey(kv, world.deps.masterKeys, account.id, {
    name: "k",
    nowMs: world.time.nowMs(),
  });
  const [team] = await listTeams(kv, account.id);
  const [key] = await listApiKeys(kv, account.id);
  assert(team !== undefined && key !== undefined);
  const typed = {
    "calls-models": "general-01",
    "calls-only": "sandbox, ",
    "calls-mcpServers": "None",
    "calls-zdr": "yes",
    "calls-prompt": "9000",
    "calls-allowFallbacks": "no",
    "calls-costInUsage": "yes",
    "calls-autoCache": "no",
    "calls-rules": "mask card [0-9]{16}\r\nrefuse plan secret  plan",
  };
  const stored = {
    models: ["general-01"],
    only: ["sandbox"],
    mcpServers: [],
    forbidsRetention: true,
    maxPrice: { prompt: 9_000_000_000n },
    allowFallbacks: false,
    tellsCost: true,
    autoCache: false,
    rules: [
      { name: "card", action: "mask", pattern: "[0-9]{16}" },
      { name: "plan", action: "refuse", pattern: "secret  plan" },
    ],
  };
  const path = "/organisation/calls";
  const ofKey = `/keys/${key.id}`;
  for (
    const [page, form, read] of [
      [path, path, async () => (await getAccount(kv, account.id))?.calls],
      [`${path}?team=${team.id}`, path, async () => (await listTeams(kv, account.id))[0]?.calls],
      [ofKey, `${ofKey}/calls`, async () => (await listApiKeys(kv, account.id))[0]?.calls],
    ] as const
  ) {
    const saved = await browser.submit(await browser.get(page), form, typed);
    assert(saved.status === 303 || saved.status === 200, saved.text);
    assertEquals(await read(), stored as never);
    // An unchanged form changes nothing.
    await browser.submit(await browser.get(page), form, {});
    assertEquals(await read(), stored as never);
    const wrong = await browser.submit(await browser.get(page), form, {
      ...typed,
      "calls-prompt": "many",
      "calls-rules": "mask (a*)*",
    });
    assertEquals(wrong.status, 422);
    assertEquals(await read(), stored as never);
    const nothing = Object.fromEntries(Object.keys(typed).map((name) => [name, ""]));
    await browser.submit(await browser.get(page), form, nothing);
    assertEquals(Object.keys(await read() ?? {}).filter((name) => name !== "forbidsRetention"), []);
  }
});

const preset = {
  model: "general-01",
  system: 'You say "chào".\n\nBriefly.',
  parameters: {
    temperature: 0.25,
    top_p: 1,
    top_k: 40,
    max_tokens: 900,
    seed: 7,
    frequency_penalty: -0.5,
    presence_penalty: 0,
    stop: ["END", "#"],
    effort: "low",
  },
  calls: {
    models: ["premium-1"],
    only: ["sandbox"],
    allow_fallbacks: false,
    sort: "latency",
    data_collection: "deny",
    max_price: { prompt: 9_000 },
  },
};

Deno.test("a program saves, reads, lists and deletes presets, and wrong ones are refused by their member", async () => {
  await using world = await openManagementWorld();
  const { kv, owner, send } = world;
  const path = "/presets";
  const first = await send("POST", path, { body: { name: "support", ...preset } });
  assertEquals(first.status, 200, JSON.stringify(first.body));
  const { saved_at: _, ...told } = first.body;
  assertEquals(told, { object: "preset_version", name: "support", version: 1, ...preset });
  const plain = { name: "support", model: "auto" };
  assertEquals((await send("POST", path, { body: plain })).body.version, 2);
  assertEquals((await send("GET", `${path}/support?version=1`)).body, first.body);
  assertEquals((await send("GET", `${path}/support`)).body.model, "auto");
  const [listed] = (await send("GET", path)).body.data;
  assertEquals([listed.name, listed.model, listed.version, listed.oldest_version], [
    "support",
    "auto",
    2,
    1,
  ]);
  for (const missing of ["support?version=3", "other"]) {
    assertEquals((await send("GET", `${path}/${missing}`)).status, 404, missing);
  }
  assertEquals((await send("GET", `${path}/support?version=x`)).status, 400);
  for (
    const [members, param] of [
      [{ name: "Support" }, "name"],
      [{ model: "no-such-model" }, "model"],
      [{ model: "image-1" }, "model"],
      [{ system: "ă".repeat(21_000) }, "system"],
      [{ parameters: { temperature: 3 } }, "parameters.temperature"],
      [{ parameters: { top_p: "1" } }, "parameters.top_p"],
      [{ parameters: { logprobs: true } }, "parameters.logprobs"],
      [{ calls: { only: ["nobody"] } }, "calls.only"],
      [{ calls: { rules: [] } }, "calls.rules"],
    ] as const
  ) {
    const { status, body } = await send("POST", path, { body: { ...plain, ...members } });
    assertEquals([status, body.error?.param], [400, param], JSON.stringify(body));
  }
  assertEquals((await send("DELETE", `${path}/support`)).status, 200);
  assertEquals((await send("DELETE", `${path}/support`)).status, 404);
  assertEquals((await send("GET", path)).body.data, []);
  const { lines } = await findActivity(kv, owner.id, { count: 50 });
  assertEquals(lines.filter(({ act }) => act === "presets_changed").length, 3);
  assert(!JSON.stringify(lines).includes("chào"), "the activity has no prompt");
});

Deno.test("the form of a preset saves what it shows, and says which field is wrong", async () => {
  await using world = await openDashboardWorld();
  const { kv, deps: { masterKeys } } = world;
  const { browser, account } = await world.signIn();
  const path = "/organisation/presets";
  const typed = {
    name: "support",
    model: "general-01",
    system: 'You say "chào" & <b>.\r\n\r\nBriefly.',
    temperature: "0,25",
    topK: "40",
    stop: "END\r\n#",
    effort: "low",
    "calls-models": "premium-1",
    "calls-sort": "latency",
    "calls-prompt": "9000",
  };
  const read = async () => {
    const called = { name: "support", version: undefined };
    return await readPreset(kv, masterKeys, account.id, called);
  };
  const saved = await browser.submit(await browser.get(path), path, typed);
  assertEquals(saved.status, 303, saved.text);
  const one = await read();
  assertEquals(one?.preset, {
    model: "general-01",
    system: 'You say "chào" & <b>.\n\nBriefly.',
    parameters: { temperature: 0.25, topK: 40, stop: ["END", "#"], effort: "low" },
    calls: { models: ["premium-1"], sort: "latency", maxPrice: { prompt: 9_000_000_000n } },
  });
  await browser.submit(await browser.get(`${path}?name=support&version=1`), path, {});
  const two = await read();
  assertEquals([two?.version, two?.preset], [2, one?.preset], "an unchanged form saves the same");
  for (const field of ["model", "temperature", "topK", "effort", "calls-models"]) {
    const wrong = { ...typed, [field]: "no-such" };
    const refused = await browser.submit(await browser.get(path), path, wrong);
    assertEquals(refused.status, 422, field);
    const isMarked = [...refused.text.matchAll(/<(?:input|select|textarea)[^>]*>/g)]
      .some(([tag]) => tag.includes(`name="${field}"`) && tag.includes('aria-invalid="true"'));
    assert(isMarked, field);
  }
  assertEquals((await read())?.version, 2);
  const gone = await browser.submit(await browser.get(path), `${path}/delete`, {});
  assertEquals([gone.status, await read()], [303, undefined]);
});
