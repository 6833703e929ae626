/** Serves operations over HTTP: to programs with the operator's key, and to commands through the socket. */
import type { Context } from "hono";
import { isJsonObject } from "../../../core/lib/json/json.ts";
import type { Actor } from "../../../kv/people/audit/operator_audit.ts";
import type { OperationDeps } from "./contract/operation.ts";
import { operations } from "./operations.ts";
import type { OperationName } from "./contract/paths.ts";

/** Additions of a surface to operations. */
export interface OperationSurface {
  readonly deps: OperationDeps;
  readonly operator: Actor;
  /** Reads the JSON of a body; an empty body counts as an empty object. */
  readonly readJson: (context: Context, maxBytes: number | undefined) => Promise<unknown>;
  /** Returns the version of the catalogue that the request names as seen; absent: the newest counts as seen. */
  readonly base?: (context: Context) => number;
  readonly errorAnswer: (error: unknown) => Response;
}

/** Parameters of the path win over what is sent; a body that is no object is refused by the schema of the input. */
async function inputOf(
  context: Context,
  readBody: () => Promise<unknown>,
): Promise<unknown> {
  const params: Record<string, string> = context.req.param();
  if (context.req.method === "GET") return { ...context.req.query(), ...params };
  const body = await readBody();
  return isJsonObject(body) ? { ...body, ...params } : body;
}

/** Returns a function that answers a request for an operation. */
export function operationServing(
  { deps, operator, readJson, base, errorAnswer }: OperationSurface,
): (name: OperationName, context: Context) => Promise<Response> {
  return async (name, context) => {
    const { call, maxBodyBytes } = operations[name];
    try {
      const input = await inputOf(context, () => readJson(context, maxBodyBytes));
      const answer = await call(deps, input, {
        operator,
        nowMs: deps.clock.nowMs(),
        ...(base !== undefined && { base: () => base(context) }),
      });
      if (!answer.ok) return Response.json(answer.body, { status: answer.status });
      const { body, version } = answer;
      return Response.json(
        body,
        version === undefined ? {} : { headers: { etag: `"${version}"` } },
      );
    } catch (error) {
      return errorAnswer(error);
    }
  };
}
