/** Provider keys of organisations by page and by program, beside a small model: what one writes, the other shows. */
import { assert, assertEquals } from "../../support/assert.ts";
import * as fc from "../../support/property.ts";
import { open } from "../../../core/people/api_keys/seal.ts";
import { getAccount } from "../../../kv/people/accounts/accounts.ts";
import { findActivity } from "../../../kv/people/audit/account_activity.ts";
import { changeOwnKey, listOwnKeys, maxOwnKeys } from "../../../kv/people/api_keys/own_keys.ts";
import { resealSecrets } from "../../../kv/services/vault/reseal_secrets.ts";
import { newMasterKey, readMasterKeys } from "../../../core/people/api_keys/seal.ts";
import { openTwoWays } from "../../support/worlds/two_ways.ts";

/** The provider of the default catalogue, which takes any key. */
const provider = "sandbox";

const keys = {
  good: "good-key-0123456789abcdef",
  odd: "odd-key-0123456789abcdef",
  bad: "bad-key-0123456789abcdef",
  spaced: "a key 0123456789abcdef",
} as const;

interface Step {
  readonly act: "set" | "remove";
  readonly key: keyof typeof keys | undefined;
  readonly fallback: boolean;
  readonly provider: string;
}

const step: fc.Arbitrary<Step> = fc.record({
  act: fc.constantFrom("set", "set", "remove"),
  key: fc.constantFrom("good", "odd", "bad", "spaced", undefined),
  fallback: fc.boolean(),
  provider: fc.constantFrom(provider, provider, provider, "nobody"),
});

/** A key as the model has it. */
interface ModelKey {
  readonly secret: string;
  readonly isTested: boolean;
  readonly fallback: boolean;
}

/** What is there after a step; the same object if it is refused. */
function after(step: Step, before: ModelKey | undefined): ModelKey | undefined {
  if (step.provider !== provider) return before;
  if (step.act === "remove") return undefined;
  if (step.key === "bad" || step.key === "spaced") return before;
  if (step.key === undefined) return before && { ...before, fallback: step.fallback };
  return { secret: keys[step.key], isTested: step.key === "good", fallback: step.fallback };
}

Deno.test("keys are set and removed alike by page and program, and never shown", async () => {
  await using ways = await openTwoWays();
  const { kv, time, deps } = ways;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), async (steps) => {
      for (const accountId of [ways.page, ways.program]) {
        const change = () => undefined;
        await changeOwnKey(kv, accountId, { provider, change, nowMs: time.nowMs() });
      }
      let model: ModelKey | undefined;
      for (const step of steps) {
        const isThere = model !== undefined;
        const sent = step.key === undefined ? {} : { key: keys[step.key] };
        const came = await Promise.all(
          step.act === "set"
            ? [
              ways.byPage({
                on: "/organisation/provider-keys",
                action: "/organisation/provider-keys",
                fields: {
                  provider: step.provider,
                  key: "",
                  ...sent,
                  fallback: step.fallback ? "yes" : "no",
                },
              }),
              ways.byProgram({
                method: "POST",
                path: "/provider-keys",
                body: { provider: step.provider, ...sent, fallback: step.fallback },
              }),
            ]
            : [
              ways.byPage({
                on: "/organisation/provider-keys",
                action: "/organisation/provider-keys/remove",
                fields: { provider: step.provider },
              }),
              ways.byProgram({ method: "DELETE", path: `/provider-keys/${step.provider}` }),
            ],
        );
        time.advance(60_000);
        const next = after(step, model);
        const isDone = step.provider === provider &&
          (step.act === "remove" ? isThere : next !== model);
        assertEquals(came.map((one) => one === "done"), [isDone, isDone], JSON.stringify(came));
        model = next;
        for (const accountId of [ways.page, ways.program]) {
          const [key, ...others] = await listOwnKeys(kv, accountId);
          assertEquals(others, []);
          assertEquals((await getAccount(kv, accountId))?.hasOwnKeys, model && true);
          if (model === undefined) {
            assertEquals(key, undefined);
            continue;
          }
          assert(key !== undefined);
          const { fallback, isTested, fingerprint } = key;
          assertEquals({ fallback, isTested }, {
            fallback: model.fallback,
            isTested: model.isTested,
          });
          assertEquals(fingerprint, `…${model.secret.slice(-4)}`);
          const owner = `own_key/${accountId}/${provider}` as const;
          assertEquals(await open(deps.masterKeys, key.sealed, owner), model.secret);
        }
      }
    }),
    { numRuns: 15 },
  );
  const { lines } = await findActivity(kv, ways.page, { count: 1_000 });
  assert(lines.some(({ act }) => act === "provider_key_changed"));
  const rows = await Array.fromAsync(kv.list({ prefix: [] }));
  const text = Deno.inspect(rows, { depth: 20, iterableLimit: 10_000, strAbbreviateSize: 100_000 });
  for (const secret of Object.values(keys)) assert(!text.includes(secret), secret);
});

Deno.test("a master key can be given up once the keys are sealed with the next", async () => {
  await using ways = await openTwoWays();
  const { kv, deps, page } = ways;
  await ways.byPage({
    on: "/organisation/provider-keys",
    action: "/organisation/provider-keys",
    fields: { provider, key: keys.good, fallback: "no" },
  });
  const next = newMasterKey();
  const [former] = await listOwnKeys(kv, page);
  const both = await readMasterKeys(next);
  const masterKeys = {
    sealing: both.sealing,
    byId: new Map([...deps.masterKeys.byId, ...both.byId]),
  };
  let at: string | undefined;
  do {
    const { next: further, problems } = await resealSecrets(kv, masterKeys, at);
    assertEquals(problems, []);
    at = further;
  } while (at !== undefined);
  const [key] = await listOwnKeys(kv, page);
  assert(key !== undefined && key.sealed !== former?.sealed);
  assertEquals(await open(both, key.sealed, `own_key/${page}/${provider}`), keys.good);
});

Deno.test("an organisation has a bounded number of keys", async () => {
  await using ways = await openTwoWays();
  const { kv, page } = ways;
  for (let at = 0; at <= maxOwnKeys; at++) {
    const name = `provider-${at}`;
    const change = () => ({
      provider: name,
      sealed: "x",
      fingerprint: "…",
      fallback: false,
      isTested: true,
      setAtMs: 0,
    });
    const came = await changeOwnKey(kv, page, { provider: name, change, nowMs: 0 });
    assertEquals(came, at < maxOwnKeys ? "changed" : "full");
  }
});
