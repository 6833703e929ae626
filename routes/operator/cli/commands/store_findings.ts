/**
 * Findings of `doctor` about the store: how far it is, its books, archive and backups, waiting work, who runs on it.
 */
import { programVersion } from "../../../../core/lib/base/program_version.ts";
import type { Clock } from "../../../../core/lib/time/clock.ts";
import { dayMs, hourMs } from "../../../../core/lib/time/durations.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import { schemaVersionKey } from "../../../../kv/engine/schema/keys.ts";
import { runningInstances } from "../../../../kv/money/wallet/mod.ts";
import type { StoreParts } from "../../../../kv/money/archive/receipt_archive.ts";
import { readStoreState, type StoreState } from "../../../telemetry/store_metrics.ts";
import type { Finding } from "./doctor.ts";

/** Store to examine. */
export interface ExaminedStore {
  readonly kv: KeyValueStore;
  readonly clock: Clock;
  /** Absent where this kind of store has no archive. */
  readonly parts: StoreParts | undefined;
}

/** Reads whose median is the way to the store. */
const timedReads = 5;

/** Milliseconds of a read above which a store is far: every whole answer waits for a commit, which takes longer. */
const farMs = 20;

/** Age of the last run of a job of each night, above which a night was left out. */
const nightlyMs = 36 * hourMs;

/** Age of the last sealed day; days are sealed with a delay of two. */
const sealedMs = 4 * dayMs;

/** For how long work may be due: its workers try at least every ten minutes. */
const overdueMs = hourMs / 2;

/** The finding about a store that could not be looked at. */
export function unusableStore(problem: string): Finding {
  return {
    state: "wrong",
    area: "store",
    what: problem,
    mend: "look at GATEWAY_KV, and follow docs/runbooks/store-down.md",
  };
}

const hoursOf = (ageMs: number) => `${Math.floor(ageMs / hourMs)} h`;

async function distanceFinding({ kv, clock }: ExaminedStore): Promise<Finding> {
  const times: number[] = [];
  for (let read = 0; read < timedReads; read++) {
    const beganMs = clock.monotonicMs();
    await kv.get(schemaVersionKey());
    times.push(clock.monotonicMs() - beganMs);
  }
  const medianMs = times.sort((one, other) => one - other)[timedReads >> 1] ?? 0;
  const what = `a read takes ${medianMs.toFixed(1)} ms`;
  return medianMs <= farMs ? { state: "good", area: "store", what } : {
    state: "advice",
    area: "store",
    what: `${what}: each whole answer waits longer than that for its receipt`,
    mend: "put store and gateway into one data centre (docs/operations/several-instances.md)",
  };
}

/** One job of each night: when it ended last, and what it found. */
interface NightlyJob {
  readonly area: string;
  readonly ended: { readonly atMs: number; readonly problems?: number } | undefined;
  readonly command: string;
  readonly runbook: string;
}

function nightlyFinding({ area, ended, command, runbook }: NightlyJob, nowMs: number): Finding {
  if (ended === undefined) {
    return { state: "advice", area, what: "has never run", mend: `run \`${command}\` each night` };
  }
  const { atMs, problems = 0 } = ended;
  if (problems > 0) {
    return {
      state: "wrong",
      area,
      what: `the last run found ${problems} problem(s)`,
      mend: runbook,
    };
  }
  const what = `last run ${hoursOf(nowMs - atMs)} ago`;
  return nowMs - atMs <= nightlyMs
    ? { state: "good", area, what }
    : { state: "wrong", area, what, mend: `run \`${command}\` each night, and see why it ended` };
}

function nightlyFindings(
  { books: { verified, sealedUntilMs }, lastMove, lastBackup }: StoreState,
  { clock, parts }: ExaminedStore,
): Finding[] {
  const nowMs = clock.nowMs();
  const jobs: readonly NightlyJob[] = [
    {
      area: "verification",
      ended: verified.daily,
      command: "deno task admin verify",
      runbook: "follow docs/runbooks/verification-failed.md",
    },
    {
      area: "backup",
      ended: lastBackup,
      command: "deno task admin backup FOLDER",
      runbook: "follow docs/operations/backup.md",
    },
    ...(parts === undefined ? [] : [{
      area: "archive",
      ended: lastMove,
      command: "deno task admin archive",
      runbook: "follow docs/runbooks/days-not-archived.md",
    }]),
  ];
  const isUnsealed = sealedUntilMs !== undefined && nowMs - sealedUntilMs > sealedMs;
  return [
    ...jobs.map((job) => nightlyFinding(job, nowMs)),
    ...(isUnsealed
      ? [{
        state: "wrong" as const,
        area: "seals",
        what: `the last sealed day ended ${hoursOf(nowMs - sealedUntilMs)} ago`,
        mend: "run `deno task admin verify`, which says what stands in the way",
      }]
      : []),
  ];
}

function backlogFindings({ backlogs }: StoreState): Finding[] {
  const findings: Finding[] = [];
  for (const [queue, backlog] of backlogs) {
    const area = `queue ${queue}`;
    if (backlog.overdueMs > overdueMs) {
      findings.push({
        state: "wrong",
        area,
        what: `its oldest work has been due for ${Math.floor(backlog.overdueMs / 60_000)} min`,
        mend: "see whether a gateway runs, and follow docs/runbooks/outbox-stuck.md",
      });
    }
    if (backlog.deadLetters > 0) {
      findings.push({
        state: "advice",
        area,
        what: `${backlog.deadLetters} were given up`,
        mend: "look at them with `deno task admin outbox list`",
      });
    }
  }
  return findings;
}

async function instanceFindings({ kv, clock }: ExaminedStore): Promise<Finding[]> {
  const running = await runningInstances(kv, clock.nowMs());
  const versions = new Set(running.map(({ version }) => version));
  const names = [...versions].map((version) => version ?? "before 0.3.0").sort();
  const [name] = names;
  if (name === undefined) {
    return [{
      state: "advice",
      area: "instances",
      what: "no gateway runs on this store",
      mend: "start one with `deno task start`",
    }];
  }
  if (versions.size === 1 && versions.has(programVersion)) {
    return [{ state: "good", area: "instances", what: `all run ${programVersion}` }];
  }
  return [{
    state: "advice",
    area: "instances",
    what: `they run ${names.join(" and ")}, and this command is of ${programVersion}`,
    mend: "end the update: the same version everywhere (docs/operations/deployments.md)",
  }];
}

/** Lists what the store itself shows. It reads a few dozen rows, and changes none. */
export async function storeFindings(store: ExaminedStore): Promise<Finding[]> {
  const state = await readStoreState(store);
  return [
    await distanceFinding(store),
    ...nightlyFindings(state, store),
    ...backlogFindings(state),
    ...await instanceFindings(store),
  ];
}
