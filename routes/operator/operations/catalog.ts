/** Operations on the catalogue: reading, dry runs, changes, history, rollback. */
import { z } from "zod";
import type { Catalog } from "../../../core/catalog/catalog.ts";
import { type CatalogChange, changeLine } from "../../../core/catalog/diff.ts";
import { defined } from "../../../core/lib/base/defined.ts";
import { maxCatalogBytes } from "../../../kv/services/catalog/contents.ts";
import {
  type CatalogVersion,
  listVersions,
  maxCatalogReasonChars,
  readVersion,
  readVersionContents,
  versionsPerPage,
} from "../../../kv/services/catalog/versions.ts";
import {
  applyCatalog,
  catalogState,
  type ChangeResult,
  changesOfVersion,
  effectiveMomentForm,
  effectiveMomentMs,
  previewCatalog,
  rollBackCatalog,
  versionJson,
  type WantedChange,
  withdrawCatalog,
} from "./contract/editing.ts";
import {
  type Done,
  operation,
  type OperationAct,
  type OperationDeps,
  type RefusalBodies,
  type Refused,
  refused,
  type RefusedWithBody,
} from "./contract/operation.ts";
import { proseText } from "./contract/texts.ts";

const reason = proseText(maxCatalogReasonChars);
const moment = z.string().optional();
const contents = z.record(z.string(), z.unknown())
  .describe("In the form of gateway.json: docs/gateway.schema.json.");

const versionRow = z.object({
  version: z.int(),
  author: z.string(),
  reason: z.string(),
  created_at: z.iso.datetime(),
  effective_from: z.iso.datetime(),
  parent: z.int().optional(),
  rollback_to: z.int().optional(),
  digest: z.string(),
});

const madeVersion = versionRow.extend({
  withdrawn: z.int().optional().describe("The version that waited and is taken back by this one."),
});

/** Changes as values, and as lines for people. */
const changeLists = {
  changes: z.array(z.record(z.string(), z.unknown())),
  lines: z.array(z.string()),
};

function changesJson(changes: readonly CatalogChange[]) {
  return { changes: changes.map((change) => ({ ...change })), lines: changes.map(changeLine) };
}

/** The version that the author has seen; whoever names none has seen the newest. */
async function baseOf({ editing }: OperationDeps, { base }: OperationAct): Promise<number> {
  return base === undefined ? (await catalogState(editing)).head.newest : base();
}

/** A change by somebody who has not seen the newest version. */
interface Conflict extends RefusedWithBody<"conflict"> {
  readonly newest: CatalogVersion | undefined;
}

/** Contents that cannot be served. */
interface Invalid extends RefusedWithBody<"invalid"> {
  readonly problems: readonly string[];
}

function conflict(newest: CatalogVersion | undefined): Conflict {
  return {
    ok: false,
    why: "conflict",
    status: 412,
    newest,
    body: {
      error: { code: "conflict", message: "The catalogue was changed meanwhile" },
      ...(newest !== undefined && { newest: versionJson(newest) }),
    },
  };
}

const errorOf = z.object({ code: z.string(), message: z.string() });

const problems = z.array(z.string()).describe("All that is wrong.");

const conflictBody = {
  description: "Another version is the newest: `newest` describes it.",
  body: z.object({ error: errorOf, newest: versionRow.optional() }),
};

/** The bodies of refused changes. */
const changeRefusals: RefusalBodies = {
  409: { description: "Nothing would change.", body: z.object({ error: errorOf }) },
  412: conflictBody,
  422: {
    description: "The catalogue is not valid: `problems` lists why.",
    body: z.object({ error: errorOf.extend({ problems }) }),
  },
};

type ChangeAnswer =
  | Done<z.infer<typeof madeVersion>>
  | Refused<"missing" | "moment">
  | RefusedWithBody<"unchanged">
  | Conflict
  | Invalid;

/** Makes a version in force at once, or from the moment that its author wrote. */
async function changed(
  deps: OperationDeps,
  { reason, effective_from }: {
    readonly reason: string;
    readonly effective_from?: string | undefined;
  },
  act: OperationAct,
  change: (wanted: WantedChange) => Promise<ChangeResult>,
): Promise<ChangeAnswer> {
  const effectiveFromMs = effective_from === undefined
    ? undefined
    : effectiveMomentMs(effective_from, act.nowMs);
  if (effective_from !== undefined && effectiveFromMs === undefined) {
    const text = `effective_from: ${effectiveMomentForm}`;
    return refused("moment", "invalid_request", text, "effective_from");
  }
  return changeAnswer(await change({ base: await baseOf(deps, act), reason, effectiveFromMs }));
}

function changeAnswer(result: ChangeResult): ChangeAnswer {
  if (result.ok) {
    const { version, withdrawn } = result;
    const body = { ...versionJson(version), ...defined({ withdrawn }) };
    return { ok: true, body, version: version.version };
  }
  switch (result.reason) {
    case "conflict":
      return conflict(result.newest);
    case "invalid": {
      const message = "The catalogue is not valid";
      const { problems } = result;
      return {
        ok: false,
        why: "invalid",
        status: 422,
        problems,
        body: { error: { code: "invalid_catalog", message, problems } },
      };
    }
    case "unchanged": {
      const error = { code: "unchanged", message: "Nothing would change" };
      return { ok: false, why: "unchanged", status: 409, body: { error } };
    }
    case "missing":
      return refused(
        "missing",
        "not_found",
        "There is no such version, or its contents are not kept",
      );
  }
}

/** Shows the catalogue. */
export const showCatalog = operation({
  name: "catalog.show",
  summary: "The catalogue in force, its version, and the one that waits",
  effect: "reads",
  input: z.strictObject({}),
  output: z.object({
    object: z.literal("catalog"),
    version: z.int(),
    newest: z.int(),
    scheduled: z.object({ version: z.int(), effective_from: z.iso.datetime() }).nullable(),
    served_here: z.int().nullable(),
    refused_here: z.object({ version: z.int(), problems: z.array(z.string()).readonly() })
      .nullable(),
    file_differs: z.boolean(),
    catalog: contents,
  }),
  async run({ editing, catalog: live }) {
    const { version, head, contents, isFilePassedOver } = await catalogState(editing);
    const { scheduled, newest } = head;
    const body = {
      object: "catalog" as const,
      version,
      newest,
      scheduled: scheduled === undefined ? null : {
        version: scheduled.version,
        effective_from: new Date(scheduled.effectiveFromMs).toISOString(),
      },
      served_here: live?.current.version ?? null,
      refused_here: live?.refused ?? null,
      file_differs: isFilePassedOver,
      catalog: contents,
    };
    return { ok: true, body, version: newest };
  },
});

/** Changes that a catalogue would make. */
interface TriedCatalog extends
  Done<{
    readonly ok: true;
    readonly in_force: number;
    changes: Record<string, unknown>[];
    lines: string[];
  }> {
  readonly changes: readonly CatalogChange[];
  readonly catalog: Catalog;
}

/** Checks contents, and shows what they would change. */
export const tryCatalog = operation({
  name: "catalog.preview",
  summary: "What a catalogue would change, or all its problems; changes nothing",
  effect: "reads",
  input: z.strictObject({ catalog: z.unknown() }),
  output: z.object({ ok: z.literal(true), in_force: z.int(), ...changeLists }),
  refusals: {
    422: {
      description: "The catalogue is not valid: `problems` lists why.",
      body: z.object({ ok: z.literal(false), problems }),
    },
  },
  maxBodyBytes: maxCatalogBytes,
  async run({ editing }, { catalog }): Promise<TriedCatalog | Invalid> {
    const state = await catalogState(editing);
    const preview = await previewCatalog(editing, state.contents, catalog);
    if (!preview.ok) {
      const { problems } = preview;
      return { ok: false, why: "invalid", status: 422, problems, body: { ...preview } };
    }
    const { changes, catalog: compiled } = preview;
    const body = { ok: true as const, in_force: state.version, ...changesJson(changes) };
    return { ok: true, body, changes, catalog: compiled };
  },
});

/** Makes a version of contents. */
export const putCatalog = operation({
  name: "catalog.apply",
  summary: "Makes a version of a catalogue, in force at once or from a time",
  effect: "acts",
  replacesVersion: true,
  refusals: changeRefusals,
  input: z.strictObject({ catalog: z.unknown(), reason, effective_from: moment }),
  output: madeVersion,
  maxBodyBytes: maxCatalogBytes,
  run: (deps, { catalog, ...wanted }, act) =>
    changed(
      deps,
      wanted,
      act,
      (change) => applyCatalog(deps.editing, catalog, change, act.operator),
    ),
});

/** Makes a version with the contents of an older one. */
export const rollBackTo = operation({
  name: "catalog.rollback",
  summary: "Makes a version with the contents of an older one",
  effect: "acts",
  replacesVersion: true,
  refusals: changeRefusals,
  input: z.strictObject({ version: z.int().min(1), reason, effective_from: moment }),
  output: madeVersion,
  maxBodyBytes: maxCatalogBytes,
  run: (deps, { version, ...wanted }, act) =>
    changed(
      deps,
      wanted,
      act,
      (change) => rollBackCatalog(deps.editing, version, change, act.operator),
    ),
});

/** Takes back the version that waits. */
export const withdrawScheduledVersion = operation({
  name: "catalog.withdraw",
  summary: "Takes back the version that waits for its time",
  effect: "acts",
  replacesVersion: true,
  refusals: { 412: conflictBody },
  input: z.strictObject({ reason }),
  output: z.object({ version: z.int().describe("The version in force.") }),
  maxBodyBytes: maxCatalogBytes,
  async run(deps, { reason }, act) {
    const { kv, editing } = deps;
    const wanted = { base: await baseOf(deps, act), reason };
    const result = await withdrawCatalog(editing, wanted, act.operator);
    if (result === "missing") return refused("missing", "not_found", "No version waits");
    const { head } = await catalogState(editing);
    if (result === "conflict") return conflict(await readVersion(kv, head.newest));
    return { ok: true, body: { version: head.version }, version: head.newest };
  },
});

/** Lists versions. */
export const listCatalogVersions = operation({
  name: "catalog.versions",
  summary: "The history of the catalogue, newest first",
  effect: "reads",
  input: z.strictObject({
    before: z.coerce.number().int().min(1).optional().describe(
      "Only versions older than this one.",
    ),
  }),
  output: z.object({
    object: z.literal("list"),
    data: z.array(versionRow),
    has_more: z.boolean(),
  }),
  async run({ kv, editing }, { before }) {
    // A store that no gateway has served from gets its first version here, as reading the catalogue gives it one.
    await catalogState(editing);
    const rows = await listVersions(kv, defined({ before }));
    const has_more = rows.length === versionsPerPage && (rows.at(-1)?.version ?? 1) > 1;
    return { ok: true, body: { object: "list" as const, data: rows.map(versionJson), has_more } };
  },
});

/** Shows one version. */
export const showCatalogVersion = operation({
  name: "catalog.version",
  summary: "One version, with what it changed and its contents",
  effect: "reads",
  input: z.strictObject({ version: z.coerce.number().int() }),
  output: versionRow.extend({
    object: z.literal("catalog.version"),
    changes: changeLists.changes.optional(),
    lines: changeLists.lines.optional(),
    catalog: z.unknown(),
  }),
  async run({ kv }, { version }) {
    const row = await readVersion(kv, version);
    if (row === undefined) return refused("missing", "not_found", "There is no such version");
    const changes = await changesOfVersion(kv, row.version);
    const body = {
      object: "catalog.version" as const,
      ...versionJson(row),
      ...(changes !== undefined && changesJson(changes)),
      catalog: await readVersionContents(kv, row.version) ?? null,
    };
    return { ok: true, body };
  },
});
