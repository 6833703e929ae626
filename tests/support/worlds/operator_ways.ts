/** The operations of operators over HTTP, and as they are typed: what tests send by each way. */
import { type Context, Hono } from "hono";
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import type { Json, JsonObject } from "../../../core/lib/json/json.ts";
import type { Actor } from "../../../kv/people/audit/operator_audit.ts";
import { readAdminCommand } from "../../../routes/operator/cli/command_forms.ts";
import { operatorBody } from "../../../routes/operator/operations/contract/body.ts";
import {
  type OperationName,
  operationNames,
  operationPaths,
} from "../../../routes/operator/operations/contract/paths.ts";
import { operationServing } from "../../../routes/operator/operations/serving.ts";
import type { OperationDeps } from "../../../routes/operator/operations/contract/operation.ts";

/** The operations over HTTP, as programs and commands ask for them. */
export function served({ deps }: { readonly deps: OperationDeps }, operator: Actor): Hono {
  const app = new Hono();
  const serve = operationServing({
    deps,
    operator,
    readJson: async (context: Context) => operatorBody(await context.req.raw.bytes()),
    errorAnswer: (error) =>
      Response.json({}, { status: error instanceof GatewayError ? error.status : 500 }),
  });
  for (const name of operationNames) {
    const { method, path } = operationPaths[name];
    app.on(method, path, (context) => serve(name, context));
  }
  return app;
}

/** The request of an operation for a program: what its path names stands there, the rest in the body. */
export function requestFor(
  name: OperationName,
  input: JsonObject,
): { readonly method: string; readonly path: string; readonly body: JsonObject } {
  const { method, path } = operationPaths[name];
  const inPath = new Set<string>();
  const filled = path.replaceAll(/:(\w+)(?:\{[^}]*\})?/g, (_, field: string) => {
    inPath.add(field);
    return encodeURIComponent(String(input[field] ?? ""));
  });
  const body = Object.fromEntries(Object.entries(input).filter(([field]) => !inPath.has(field)));
  return { method, path: filled, body };
}

/** Sends a request. */
export async function answerOf(
  app: Hono,
  method: string,
  path: string,
  body?: Json,
): Promise<Response> {
  return await app.request(path, {
    method,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

/**
 * Runs what was typed after `deno task admin`.
 *
 * @param more what the command reads from the standard input or from a file
 * @returns `undefined` for a command that is refused before it is sent
 */
export async function typed(
  app: Hono,
  args: readonly string[],
  more: JsonObject = {},
): Promise<Response | undefined> {
  const read = readAdminCommand(args);
  if (read.kind !== "request") return undefined;
  const { method, path, body } = read.request;
  const sent: unknown = body === undefined && Object.keys(more).length === 0
    ? undefined
    : { ...Object(body ?? {}), ...more };
  return await app.request(path, {
    method,
    ...(sent !== undefined && { body: JSON.stringify(sent) }),
  });
}

/** The test that tries an operation by each way beside others or a model, or why none can. */
type TriedBy = "three_ways" | "money_ways" | "records_ways" | { readonly none: string };

/** Who tries each operation that acts. `three_ways_test.ts` fails for one that is not here. */
export const triedBy: Readonly<Partial<Record<OperationName, TriedBy>>> = {
  "routes.test": "records_ways",
  "routes.switch": "records_ways",
  "maintenance.set": "three_ways",
  "catalog.apply": "records_ways",
  "catalog.rollback": "records_ways",
  "catalog.withdraw": "records_ways",
  "provider_keys.add": "three_ways",
  "provider_keys.replace": "three_ways",
  "provider_keys.remove": "three_ways",
  "provider_keys.reseal": "three_ways",
  "accounts.block": "three_ways",
  "accounts.adjust": "money_ways",
  "accounts.limits": "three_ways",
  "accounts.sign_out": "three_ways",
  "accounts.note": "three_ways",
  "campaigns.make": "three_ways",
  "campaigns.pause": "three_ways",
  "campaigns.approve": "money_ways",
  "campaigns.codes": "three_ways",
  "announcements.publish": "three_ways",
  "announcements.update": "three_ways",
  "approvals.decide": "money_ways",
  "notices.set_aside": "three_ways",
  "notices.assign": "money_ways",
  "notices.resolve": "three_ways",
  "invoices.export": "records_ways",
  "invoices.issue": "records_ways",
  "invoices.send": "records_ways",
  "invoices.reject": "records_ways",
  "invoices.replace": "records_ways",
  "outbox.revive": "records_ways",
  "outbox.forget": "records_ways",
};

/** The names of the operations that a test tries, sorted. */
export function triedIn(test: TriedBy): readonly string[] {
  return Object.entries(triedBy).flatMap(([name, by]) => by === test ? [name] : []).sort();
}
