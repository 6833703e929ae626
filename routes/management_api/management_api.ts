/**
 * The management API under `/v1/organisation`: what the pages of an organisation do, for programs, with keys that make
 * no calls. What a key may do stands in the table of roles and acts.
 *
 * - Folder `routes/management_api/`: the management API: its operations, and how they are called; and the endpoints by
 *   which applications get keys.
 * - In: requests with a management key, or with the code of an application.
 * - Out: JSON, changed rows of the organisation.
 * - Never: answers a request with an API key, moves money other than a voucher's, or decides by a role itself.
 */
import { type Context, Hono } from "hono";
import { GatewayError } from "../../core/lib/errors/errors.ts";
import { sha256Hex } from "../../core/lib/hash/sha256.ts";
import { newId } from "../../core/lib/ids/ids.ts";
import { parseWithinDepth } from "../../core/lib/json/exact_json.ts";
import { isJsonObject, type JsonObject } from "../../core/lib/json/json.ts";
import { requireIdempotencyKey } from "../../core/calls/body/idempotency_key.ts";
import {
  claimAnswer,
  dropAnswer,
  keepAnswer,
  type RepeatableRequest,
} from "../../kv/people/management_keys/answers.ts";
import { readRequestBody } from "../http/body/request_body.ts";
import { errorResponse } from "../http/error_response.ts";
import { authoriseManagement, type ManagementCaller } from "../http/management_key.ts";
import { requestHeaders, withCommonHeaders } from "../http/own_headers.ts";
import type { ManagementCall, ManagementDeps, ManagementOperation } from "./operation.ts";
import { createOAuthApi } from "./oauth_api.ts";
import { managementOperations } from "./operations.ts";

/** Bytes of a body: the longest is a key with every model named. */
const maxBodyBytes = 64 * 1024;

/** Facts of the connection that the server knows. */
interface Env {
  Bindings: { readonly clientAddress?: string };
}

/** Reads the body as an object; an empty one counts as an empty object. */
async function readBody(
  c: Context<Env>,
  { deadlines }: ManagementDeps,
): Promise<{ readonly text: string; readonly json: JsonObject }> {
  const text = new TextDecoder().decode(
    await readRequestBody(c.req.raw, deadlines, { maxBytes: maxBodyBytes }),
  );
  if (text === "") return { text, json: {} };
  let json: unknown;
  try {
    // Members are renamed by recursion, so that also a short body may be nested too deeply.
    json = parseWithinDepth(text, 0);
  } catch {
    throw new GatewayError("invalid_json", "The body is not JSON, or is nested too deeply");
  }
  if (!isJsonObject(json)) throw new GatewayError("invalid_request", "The body is not an object");
  return { text, json };
}

/**
 * Reads the idempotency key of a request that makes something. It counts for one management key: the answer may have a
 * secret, which is for nobody else; nor for the same key once it, or its maker, has another role.
 */
async function repeatableOf(
  c: Context<Env>,
  { account, key, roles }: ManagementCaller,
  text: string,
): Promise<RepeatableRequest | undefined> {
  const sent = c.req.header(requestHeaders.idempotencyKey);
  if (sent === undefined || c.req.method === "GET") return undefined;
  requireIdempotencyKey(sent);
  return {
    organisationId: account.id,
    id: await sha256Hex(JSON.stringify([key.id, sent])),
    fingerprint: await sha256Hex(JSON.stringify([sent, c.req.method, c.req.path, text, roles])),
  };
}

/** Runs a request once for its idempotency key; a repeated one gets the same answer. */
async function runOnce(
  deps: ManagementDeps,
  request: RepeatableRequest,
  nowMs: number,
  run: () => Promise<JsonObject>,
): Promise<JsonObject> {
  const claim = await claimAnswer(deps.kv, deps.masterKeys, request, nowMs);
  switch (claim.kind) {
    case "answered":
      return JSON.parse(claim.answer);
    case "under_way":
      throw new GatewayError("order_under_way", "A request with this Idempotency-Key is running");
    case "other_request":
      throw new GatewayError(
        "idempotency_key_reused",
        "This Idempotency-Key was used for another request, or with other rights",
      );
    case "claimed": {
      let answer: JsonObject;
      try {
        answer = await run();
      } catch (error) {
        await dropAnswer(deps.kv, request);
        throw error;
      }
      await keepAnswer(deps.kv, deps.masterKeys, request, {
        answer: JSON.stringify(answer),
        nowMs,
      });
      return answer;
    }
  }
}

/** Makes the answer of an operation: JSON, or a file. */
async function answer(
  c: Context<Env>,
  deps: ManagementDeps,
  operation: ManagementOperation,
): Promise<JsonObject | Response> {
  const nowMs = deps.clock.nowMs();
  const caller = await authoriseManagement(deps.kv, {
    headers: c.req.raw.headers,
    clientAddress: c.env?.clientAddress,
    act: operation.act,
    nowMs,
  });
  const { text, json: body } = await readBody(c, deps);
  const repeatable = await repeatableOf(c, caller, text);
  const call: ManagementCall<unknown> = {
    ...caller,
    deps,
    nowMs,
    body,
    query: new URL(c.req.url).searchParams,
    param: (name) => c.req.param(name) ?? "",
    ...(repeatable !== undefined && { formId: repeatable.id }),
  };
  if ("send" in operation) return await operation.send(call);
  const run = () => operation.run(call);
  return repeatable === undefined ? await run() : await runOnce(deps, repeatable, nowMs, run);
}

/** Builds the management API. Mount it at `/`. */
export function createManagementApi(deps: ManagementDeps): Hono<Env> {
  const app = new Hono<Env>().route("/", createOAuthApi(deps));
  const honoPath = (path: string) => path.replace(/\{(\w+)\}/g, ":$1");
  for (const operation of managementOperations) {
    app.on(operation.method.toUpperCase(), honoPath(operation.path), async (c) => {
      const requestId = newId("request", deps.clock.nowMs());
      try {
        const made = await answer(c, deps, operation);
        const response = made instanceof Response ? made : c.json(made);
        response.headers.set("cache-control", "no-store");
        return withCommonHeaders(response, requestId);
      } catch (error) {
        return errorResponse(error, "chat", requestId);
      }
    });
  }
  const paths = Map.groupBy(managementOperations, ({ path }) => path);
  for (const [path, operations] of paths) {
    const allow = operations.map(({ method }) => method.toUpperCase()).join(", ");
    app.all(honoPath(path), () => {
      const error = new GatewayError("method_not_allowed", `This path takes ${allow}`);
      const response = errorResponse(error, "chat", newId("request", deps.clock.nowMs()));
      response.headers.set("allow", allow);
      return response;
    });
  }
  app.notFound((c) => {
    const error = new GatewayError("not_found", `There is no ${c.req.path}`);
    return errorResponse(error, "chat", newId("request", deps.clock.nowMs()));
  });
  return app;
}
