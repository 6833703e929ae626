/** Acts on the sign-in of an organisation: the same by the page and by the management API, as far as programs may. */
import * as fc from "../../support/property.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { open } from "../../../core/people/api_keys/seal.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { givenRoles } from "../../../core/people/organisations/acts.ts";
import { parseDomain, verificationRecordOf } from "../../../core/people/organisations/domain.ts";
import {
  getCompanyOpenId,
  listCompanyDomains,
  setCompanyOpenId,
  stateOf,
} from "../../../kv/people/organisations/company_sign_in.ts";
import { maxClientSecretChars, sealClientSecret } from "../../../routes/auth/company_openid.ts";
import { openCompanyIssuer } from "../../support/servers/company_issuer.ts";
import { type Came, openTwoWays } from "../../support/worlds/two_ways.ts";

/** A domain as typed; each organisation has its own name in it, since a domain belongs to one. */
const domain = fc.constantFrom<string>(
  "NAME.example",
  " NAME.Example ",
  "www.NAME.example",
  "https://NAME.example",
  "NAME",
  "",
  `${"x".repeat(300)}.example`,
);

const act = fc.oneof(
  fc.record({ do: fc.constant("add"), domain }),
  fc.record({ do: fc.constant("publish"), domain }),
  fc.record({ do: fc.constant("verify"), domain }),
  fc.record({ do: fc.constant("remove"), domain }),
  fc.record({
    do: fc.constant("change"),
    role: fc.constantFrom("owner", "", ...givenRoles),
    secret: fc.constantFrom("new", "x".repeat(maxClientSecretChars), "x".repeat(1_001)),
  }),
);

type Act = typeof act extends fc.Arbitrary<infer One> ? One : never;

const path = "/organisation/sign-in";
const provider = { issuer: "https://login.acme.example", clientId: "gateway" };

async function openWorld() {
  const records = new Map<string, string[]>();
  const issuer = await openCompanyIssuer(provider.issuer);
  const world = await openTwoWays({
    companySignIn: {
      fetch: issuer.fetch,
      resolveTxt: (name) => Promise.resolve(records.get(name) ?? []),
    },
  });
  const { kv, deps: { masterKeys }, time } = world;
  for (const id of [world.page, world.program]) {
    const sealedSecret = await sealClientSecret(masterKeys, id, "old");
    const stored = { ...provider, role: "developer", sealedSecret } as const;
    await setCompanyOpenId(kv, id, stored, { nowMs: time.nowMs() });
  }
  return { ...world, records };
}

type World = Awaited<ReturnType<typeof openWorld>>;

const nameOf = (world: World, id: AccountId) => id === world.page ? "page" : "program";

/** Publishes the record of a domain, if the organisation has it. */
async function publish(world: World, id: AccountId, typed: string): Promise<void> {
  const rows = await listCompanyDomains(world.kv, id);
  const row = rows.find((one) => one.domain === parseDomain(typed));
  if (row === undefined) return;
  const { name, value } = verificationRecordOf(row.domain, row.token);
  world.records.set(name, [value]);
}

async function byPage(world: World, one: Act): Promise<Came> {
  if ("role" in one) {
    const fields = { ...provider, clientSecret: one.secret, role: one.role };
    return await world.byPage({ on: path, action: path, fields });
  }
  const action = one.do === "add" ? `${path}/domains` : `${path}/domains/${one.do}`;
  const fields = { domain: one.domain.replace("NAME", "page") };
  return await world.byPage({ on: path, action, fields });
}

async function byProgram(world: World, one: Act): Promise<Came> {
  if ("role" in one) {
    const body = { client_secret: one.secret, role: one.role };
    return await world.byProgram({ method: "PATCH", path: "/sign-in", body });
  }
  const named = one.domain.replace("NAME", "program");
  if (one.do === "add") {
    return await world.byProgram({ method: "POST", path: "/domains", body: { domain: named } });
  }
  const at = `/domains/${encodeURIComponent(named)}`;
  return one.do === "verify"
    ? await world.byProgram({ method: "POST", path: `${at}/verify` })
    : await world.byProgram({ method: "DELETE", path: at });
}

/** What an organisation has, with the same name in its domains. */
async function stateOfOrganisation(world: World, id: AccountId) {
  const { kv, deps: { masterKeys } } = world;
  const { sealedSecret = "", ...client } = await getCompanyOpenId(kv, id) ?? {};
  const common = (text: string) => text.replaceAll(nameOf(world, id), "NAME");
  const rows = await listCompanyDomains(kv, id);
  const acts = await world.activityOf(id);
  return {
    client,
    secret: await open(masterKeys, sealedSecret, `company_openid/${id}`),
    domains: rows.map((row) => [common(row.domain), stateOf(row), row.verifiedAtMs]),
    acts: JSON.parse(common(JSON.stringify(acts))),
  };
}

/** Does each act in both ways, and returns what came of them: always the same. */
async function doInBothWays(acts: readonly Act[]): Promise<readonly Came[]> {
  await using world = await openWorld();
  const all: Came[] = [];
  for (const one of acts) {
    if (one.do === "publish" && "domain" in one) {
      for (const id of [world.page, world.program]) {
        await publish(world, id, one.domain.replace("NAME", nameOf(world, id)));
      }
      continue;
    }
    const [page, program] = [await byPage(world, one), await byProgram(world, one)];
    const came = JSON.stringify({ one, page, program });
    // The page says beside no field what is wrong with a domain.
    assertEquals(typeof page, typeof program, came);
    if (typeof page === "string") assertEquals(page, program, came);
    world.time.advance(1_000);
    assertEquals(
      await stateOfOrganisation(world, world.program),
      await stateOfOrganisation(world, world.page),
      came,
    );
    all.push(page);
  }
  return all;
}

Deno.test("any sequence of acts on domains and the provider does the same by page and by program", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 1, maxLength: 12 }), async (acts) => {
      await doInBothWays(acts);
    }),
    { numRuns: 40 },
  );
});

Deno.test("each act on domains and the provider is done in both ways", async () => {
  const acts: readonly Act[] = [
    { do: "add", domain: " NAME.Example " },
    { do: "publish", domain: "NAME.example" },
    { do: "verify", domain: "NAME.example" },
    { do: "change", role: "viewer", secret: "new" },
    { do: "remove", domain: "NAME.Example" },
  ];
  assertEquals(await doInBothWays(acts), Array(4).fill("done"));
});

Deno.test("looks at providers that somebody typed are bounded", async () => {
  await using world = await openWorld();
  const fields = { ...provider, clientSecret: "new", role: "viewer" };
  let tries = 0;
  while (tries < 100 && await world.byPage({ on: path, action: path, fields }) === "done") tries++;
  assertEquals(tries, 60);
  assert((await getCompanyOpenId(world.kv, world.page))?.role === "viewer");
});
