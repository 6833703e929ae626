/** Commands on the catalogue: `show`, `apply`, `history`, `rollback`, `withdraw`. */
import type { Context, Hono } from "hono";
import { z } from "zod";
import { changeLine } from "../../../../core/catalog/diff.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import { defined } from "../../../../core/lib/base/defined.ts";
import { listVersions, maxCatalogReasonChars } from "../../../../kv/services/catalog/versions.ts";
import { commandLine } from "../../../../kv/people/audit/operator_audit.ts";
import {
  applyCatalog,
  type CatalogEditing,
  catalogState,
  type ChangeResult,
  effectiveMomentMs,
  previewCatalog,
  rollBackCatalog,
  versionJson,
  withdrawCatalog,
} from "../../catalog/editing.ts";

const reason = z.string().min(1).max(maxCatalogReasonChars);
const from = z.string().optional();

const applyBody = z.strictObject({
  catalog: z.unknown(),
  reason: reason.optional(),
  from,
  "dry-run": z.literal("yes").optional(),
});

const rollbackBody = z.strictObject({ version: z.coerce.number().int().min(1), reason, from });

const historyQuery = z.strictObject({
  before: z.coerce.number("must be the number of a version").int().min(1).optional(),
});

function noVersion(version: number, newest: number): GatewayError {
  return new GatewayError(
    "invalid_request",
    `There is no version ${version}; the newest is ${newest}`,
  );
}

const withdrawBody = z.strictObject({ reason });

function momentOf(text: string | undefined, nowMs: number): number | undefined {
  const ms = text === undefined ? nowMs : effectiveMomentMs(text, nowMs);
  if (ms !== undefined) return text === undefined ? undefined : ms;
  throw new GatewayError(
    "invalid_request",
    "from: must be a time with its zone within a year, such as 2026-12-01T00:00:00+07:00",
  );
}

function answer(context: Context, result: ChangeResult): Response {
  if (result.ok) {
    const { version, withdrawn } = result;
    return context.json({ applied: versionJson(version), ...defined({ withdrawn }) });
  }
  switch (result.reason) {
    case "invalid":
      return context.json({ error: "the catalogue is not valid", problems: result.problems }, 400);
    case "unchanged":
      return context.json({ error: "nothing would change" }, 400);
    case "missing":
      return context.json({ error: "the contents of that version are no longer kept" }, 400);
    case "conflict":
      return context.json({
        error: "somebody else has changed the catalogue meanwhile",
        ...(result.newest !== undefined && { newest: versionJson(result.newest) }),
      }, 400);
  }
}

/** Adds `/catalog` and what is below. */
export function addCatalogRoutes(app: Hono, editing: CatalogEditing): void {
  const { kv, clock } = editing;

  app.get("/catalog", async (context) => {
    const { version, head, contents, isFilePassedOver } = await catalogState(editing);
    return context.json({
      version,
      ...defined({ scheduled: head.scheduled }),
      ...(isFilePassedOver && { file: "gateway.json differs and is not in force" }),
      catalog: contents,
    });
  });

  app.get("/catalog/versions", async (context) => {
    const { before } = historyQuery.parse(context.req.query());
    // A store that no gateway has served from gets its first version here, as `show` gives it one.
    const { head } = await catalogState(editing);
    if (before !== undefined && before > head.newest + 1) throw noVersion(before, head.newest);
    const rows = await listVersions(kv, defined({ before }));
    return context.json({ versions: rows.map(versionJson) });
  });

  app.post("/catalog", async (context) => {
    const body = applyBody.parse(await context.req.json());
    const state = await catalogState(editing);
    const preview = previewCatalog(editing, state.contents, body.catalog);
    const changes = preview.ok ? preview.changes.map(changeLine) : [];
    if (!preview.ok) {
      return context.json({ error: "the catalogue is not valid", problems: preview.problems }, 400);
    }
    if (body["dry-run"] !== undefined) {
      return context.json({ dryRun: true, inForce: state.version, changes });
    }
    if (body.reason === undefined) {
      throw new GatewayError("invalid_request", "--reason is missing: it is kept in the history");
    }
    const effectiveFromMs = momentOf(body.from, clock.nowMs());
    const wanted = { base: state.head.newest, reason: body.reason, effectiveFromMs };
    const result = await applyCatalog(editing, body.catalog, wanted, commandLine);
    if (!result.ok) return answer(context, result);
    return context.json({ applied: versionJson(result.version), changes });
  });

  app.post("/catalog/rollback", async (context) => {
    const body = rollbackBody.parse(await context.req.json());
    const { head } = await catalogState(editing);
    if (body.version > head.newest) throw noVersion(body.version, head.newest);
    const effectiveFromMs = momentOf(body.from, clock.nowMs());
    const wanted = { base: head.newest, reason: body.reason, effectiveFromMs };
    return answer(context, await rollBackCatalog(editing, body.version, wanted, commandLine));
  });

  app.post("/catalog/withdraw", async (context) => {
    const body = withdrawBody.parse(await context.req.json());
    const { head } = await catalogState(editing);
    const result = await withdrawCatalog(editing, { base: head.newest, ...body }, commandLine);
    if (result === "done") return context.json({ withdrawn: head.scheduled?.version });
    return context.json({
      error: result === "missing" ? "no version waits" : "it has just changed; try again",
    }, 400);
  });
}
