/** The operations of operators over HTTP, and as they are typed: what tests send by each way. */
import { type Context, Hono } from "hono";
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import type { Json } from "../../../core/lib/json/json.ts";
import type { Actor } from "../../../kv/people/audit/operator_audit.ts";
import { readAdminCommand } from "../../../routes/operator/cli/command_forms.ts";
import { operatorBody } from "../../../routes/operator/operations/contract/body.ts";
import {
  operationNames,
  operationPaths,
} from "../../../routes/operator/operations/contract/paths.ts";
import { operationServing } from "../../../routes/operator/operations/serving.ts";
import type { OperatorWorld } from "./operator_world.ts";

/** The operations over HTTP, as programs and commands ask for them. */
export function served({ deps }: OperatorWorld, operator: Actor): Hono {
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
 * @param secret what the command reads from the standard input
 * @returns `undefined` for a command that is refused before it is sent
 */
export async function typed(
  app: Hono,
  args: readonly string[],
  secret = "",
): Promise<Response | undefined> {
  const read = readAdminCommand(args);
  if (read.kind !== "request") return undefined;
  const { method, path, body, readsSecret } = read.request;
  const sent: unknown = readsSecret === true ? { ...Object(body ?? {}), secret } : body;
  return await app.request(path, {
    method,
    ...(sent !== undefined && { body: JSON.stringify(sent) }),
  });
}
