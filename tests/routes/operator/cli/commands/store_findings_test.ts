/** What `doctor` says of a store: its way, jobs of the night, waiting work, versions of those who run on it. */
import { programVersion } from "../../../../../core/lib/base/program_version.ts";
import { hourMs } from "../../../../../core/lib/time/durations.ts";
import { newId } from "../../../../../core/lib/ids/ids.ts";
import { indexerKey, instanceKey } from "../../../../../kv/engine/schema/keys.ts";
import { noteBackup } from "../../../../../kv/services/backup/last_backup.ts";
import { noteVerification } from "../../../../../kv/services/verify/last_verification.ts";
import { openWalletEngine } from "../../../../../kv/money/wallet/mod.ts";
import { storeFindings } from "../../../../../routes/operator/cli/commands/store_findings.ts";
import { assert, assertEquals } from "../../../../support/assert.ts";
import { ManualTime } from "../../../../support/manual_time.ts";

const hours = (count: number) => count * hourMs;

async function findingsOf(kv: Deno.Kv, clock: ManualTime, area: string) {
  const findings = await storeFindings({ kv, clock, parts: undefined });
  for (const { state, mend, what } of findings) assert(state === "good" || mend, what);
  return findings.filter((one) => one.area === area).map(({ state, what }) => `${state}: ${what}`);
}

Deno.test("a job of the night is advice before its first run, then good, then late or with problems", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = new ManualTime();
  const jobs = {
    backup: (atMs: number) => noteBackup(kv, { atMs }),
    verification: (atMs: number) => noteVerification(kv, false, { atMs, problems: 0 }),
  };
  for (const [area, note] of Object.entries(jobs)) {
    assertEquals(await findingsOf(kv, clock, area), ["advice: has never run"]);
    await note(clock.nowMs() - hours(20));
    assertEquals(await findingsOf(kv, clock, area), ["good: last run 20 h ago"]);
    await note(clock.nowMs() - hours(40));
    assertEquals(await findingsOf(kv, clock, area), ["wrong: last run 40 h ago"]);
  }
  await noteVerification(kv, false, { atMs: clock.nowMs(), problems: 2 });
  assertEquals(await findingsOf(kv, clock, "verification"), [
    "wrong: the last run found 2 problem(s)",
  ]);
  assertEquals(await findingsOf(kv, clock, "archive"), []);
});

Deno.test("versions are those of the instances that hold a lease now", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = new ManualTime();
  const found = () => findingsOf(kv, clock, "instances");
  assertEquals(await found(), ["advice: no gateway runs on this store"]);
  const wallet = await openWalletEngine(kv, { clock });
  assertEquals(await found(), [`good: all run ${programVersion}`]);
  const lease = async (version: string | undefined, expiresAtMs: number) => {
    const id = newId("instance", clock.nowMs());
    await kv.set(instanceKey(id), { state: "live", commit: 0, expiresAtMs });
    await kv.set(indexerKey(id), { sinceMs: 0, ...(version !== undefined && { version }) });
  };
  await lease("9.9.9", clock.nowMs() - 1);
  assertEquals(await found(), [`good: all run ${programVersion}`]);
  await lease(undefined, clock.nowMs() + hourMs);
  const mixed =
    `they run ${programVersion} and before 0.3.0, and this command is of ${programVersion}`;
  assertEquals(await found(), [`advice: ${mixed}`]);
  await wallet.close();
});
