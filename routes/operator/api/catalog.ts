/** The catalogue in the operator's API: reading, dry runs, changes, history, rollback. */
import { type Context, Hono } from "hono";
import { z } from "zod";
import { type CatalogChange, changeLine } from "../../../core/catalog/diff.ts";
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import { defined } from "../../../core/lib/base/defined.ts";
import {
  type CatalogVersion,
  listVersions,
  maxCatalogReasonChars,
  readVersion,
  readVersionContents,
  versionsPerPage,
} from "../../../kv/services/catalog/versions.ts";
import { maxCatalogBytes } from "../../../kv/services/catalog/contents.ts";
import { operatorProgram } from "../../../kv/people/audit/operator_audit.ts";
import type { Gateway } from "../../api/gateway/gateway.ts";
import {
  applyCatalog,
  catalogState,
  type ChangeResult,
  changesOfVersion,
  editingOf,
  effectiveMomentMs,
  previewCatalog,
  rollBackCatalog,
  versionJson,
  withdrawCatalog,
} from "../catalog/editing.ts";

const reason = z.string().min(1).max(maxCatalogReasonChars);
const moment = z.string().optional();

const previewBody = z.strictObject({ catalog: z.unknown() });
const applyBody = z.strictObject({ catalog: z.unknown(), reason, effective_from: moment });
const rollbackBody = z.strictObject({
  version: z.int().min(1),
  reason,
  effective_from: moment,
});
const withdrawBody = z.strictObject({ reason });

function etag(newest: number): string {
  return `"${newest}"`;
}

/** The version that the client has seen; without it two programs could overwrite each other. */
function baseOf(context: Context): number {
  const match = /^(?:W\/)?"(\d{1,9})"$/.exec(context.req.header("if-match") ?? "");
  if (match !== null) return Number(match[1]);
  throw new GatewayError(
    "invalid_request",
    "if-match: needs the etag of GET /operator/catalog, so that nobody's change is overwritten",
    { param: "if-match" },
  );
}

function momentMs(text: string | undefined, nowMs: number): number | undefined {
  if (text === undefined) return undefined;
  const ms = effectiveMomentMs(text, nowMs);
  if (ms !== undefined) return ms;
  throw new GatewayError(
    "invalid_request",
    "effective_from: must be a time with its zone within a year, such as 2026-12-01T00:00:00+07:00",
    { param: "effective_from" },
  );
}

function conflict(context: Context, newest: CatalogVersion | undefined): Response {
  return context.json({
    error: { code: "conflict", message: "The catalogue was changed meanwhile" },
    ...(newest !== undefined && { newest: versionJson(newest) }),
  }, 412);
}

function changeAnswer(context: Context, result: ChangeResult): Response {
  if (result.ok) {
    const { version, withdrawn } = result;
    return context.json(
      { ...versionJson(version), ...defined({ withdrawn }) },
      { headers: { etag: etag(version.version) } },
    );
  }
  switch (result.reason) {
    case "conflict":
      return conflict(context, result.newest);
    case "invalid": {
      const message = "The catalogue is not valid";
      return context.json({
        error: { code: "invalid_catalog", message, problems: result.problems },
      }, 422);
    }
    case "unchanged":
      return context.json({ error: { code: "unchanged", message: "Nothing would change" } }, 409);
    case "missing":
      throw new GatewayError("not_found", "There is no such version, or its contents are not kept");
  }
}

/** Builds the paths under `/operator/catalog`, for requests that were admitted. */
export function createCatalogApi(
  gateway: Gateway,
  readJson: (context: Context, maxBytes: number) => Promise<unknown>,
): Hono {
  const app = new Hono().basePath("/operator");
  const { kv, clock, catalog: live } = gateway;
  const editing = editingOf(gateway);

  app.get("/catalog", async (context) => {
    const { version, head, contents, isFilePassedOver } = await catalogState(editing);
    const { scheduled, newest } = head;
    return context.json({
      object: "catalog",
      version,
      newest,
      scheduled: scheduled === undefined ? null : {
        version: scheduled.version,
        effective_from: new Date(scheduled.effectiveFromMs).toISOString(),
      },
      served_here: live.current.version ?? null,
      refused_here: live.refused ?? null,
      file_differs: isFilePassedOver,
      catalog: contents,
    }, { headers: { etag: etag(newest) } });
  });

  app.post("/catalog/preview", async (context) => {
    const { catalog } = previewBody.parse(await readJson(context, maxCatalogBytes));
    const state = await catalogState(editing);
    const preview = previewCatalog(editing, state.contents, catalog);
    if (!preview.ok) return context.json(preview, 422);
    const { changes } = preview;
    return context.json({ ok: true, in_force: state.version, ...changesJson(changes) });
  });

  app.put("/catalog", async (context) => {
    const body = applyBody.parse(await readJson(context, maxCatalogBytes));
    const effectiveFromMs = momentMs(body.effective_from, clock.nowMs());
    const wanted = { base: baseOf(context), reason: body.reason, effectiveFromMs };
    const result = await applyCatalog(editing, body.catalog, wanted, operatorProgram);
    return changeAnswer(context, result);
  });

  app.post("/catalog/rollback", async (context) => {
    const body = rollbackBody.parse(await readJson(context, maxCatalogBytes));
    const effectiveFromMs = momentMs(body.effective_from, clock.nowMs());
    const wanted = { base: baseOf(context), reason: body.reason, effectiveFromMs };
    const result = await rollBackCatalog(editing, body.version, wanted, operatorProgram);
    return changeAnswer(context, result);
  });

  app.delete("/catalog/scheduled", async (context) => {
    const body = withdrawBody.parse(await readJson(context, maxCatalogBytes));
    const wanted = { base: baseOf(context), reason: body.reason };
    const result = await withdrawCatalog(editing, wanted, operatorProgram);
    if (result === "missing") throw new GatewayError("not_found", "No version waits");
    const { head } = await catalogState(editing);
    if (result === "conflict") return conflict(context, await readVersion(kv, head.newest));
    return context.json({ version: head.version }, { headers: { etag: etag(head.newest) } });
  });

  app.get("/catalog/versions", async (context) => {
    const before = Number(context.req.query("before") ?? Infinity);
    const rows = await listVersions(kv, Number.isFinite(before) ? { before } : {});
    return context.json({
      object: "list",
      data: rows.map(versionJson),
      has_more: rows.length === versionsPerPage && (rows.at(-1)?.version ?? 1) > 1,
    });
  });

  app.get("/catalog/versions/:version{\\d{1,9}}", async (context) => {
    const row = await readVersion(kv, Number(context.req.param("version")));
    if (row === undefined) throw new GatewayError("not_found", "There is no such version");
    const changes = await changesOfVersion(kv, row.version);
    return context.json({
      object: "catalog.version",
      ...versionJson(row),
      ...(changes !== undefined && changesJson(changes)),
      catalog: await readVersionContents(kv, row.version) ?? null,
    });
  });
  return app;
}

/** Changes as values, and as lines for people. */
function changesJson(changes: readonly CatalogChange[]) {
  return { changes, lines: changes.map(changeLine) };
}
