/** A gateway whose operator's API is asked by a program, and its audit log. */
import { assertEquals } from "../assert.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../core/lib/json/json.ts";
import { listAuditLines } from "../../../kv/people/audit/operator_audit.ts";
import { operatorDocument } from "../../../routes/operator/operations/document.ts";
import { operations } from "../../../routes/operator/operations/operations.ts";
import {
  type OperationName,
  operationPaths,
} from "../../../routes/operator/operations/contract/paths.ts";
import { undescribedMembers } from "../undescribed_members.ts";
import { openTestGateway, type TestGatewayOptions } from "../gateways/gateway_in_process.ts";

const operatorKey = "operator-key-of-a-test-0123456789";

const document = operatorDocument("/");

/** The schema that the OpenAPI document has for an answer of an operation. */
export function schemaOf(name: OperationName, status: string): JsonObject {
  const { method, path } = operationPaths[name];
  const written = `/operator${path.replaceAll(/:(\w+)(?:\{[^}]*\})?/g, "{$1}")}`;
  const steps = [
    "paths",
    written,
    method.toLowerCase(),
    "responses",
    status,
    "content",
    "application/json",
    "schema",
  ];
  let found: Json | undefined = document;
  for (const step of steps) {
    found = found !== undefined && isJsonObject(found) ? found[step] : undefined;
  }
  if (found === undefined || !isJsonObject(found)) throw new Error(`${name} has no ${status}`);
  return found;
}

export async function operatorApi({ env, ...options }: TestGatewayOptions = {}) {
  const gateway = await openTestGateway({
    ...options,
    env: { ...env, GATEWAY_OPERATOR_KEY: operatorKey },
  });
  const send = async (method: string, path: string, body?: unknown, key = operatorKey) => {
    const response = await gateway.fetch(
      new Request(`http://gateway/operator${path}`, {
        method,
        headers: { authorization: `Bearer ${key}` },
        body: body === undefined ? null : JSON.stringify(body),
      }),
    );
    return { status: response.status, body: await response.json() };
  };
  return {
    gateway,
    operatorKey,
    send,
    /** Sends a request, and checks that its answer is as the operation declares it. */
    async done(name: OperationName, path: string, body?: unknown) {
      const answer = await send(operationPaths[name].method, path, body);
      assertEquals(answer.status, 200, `${name}: ${JSON.stringify(answer.body)}`);
      assertEquals(operations[name].schemas.output.parse(answer.body), answer.body);
      assertEquals(undescribedMembers([schemaOf(name, "200")], answer.body), [], name);
      return answer.body;
    },
    async audited() {
      const lines = await listAuditLines(gateway.kv, { count: 20 });
      return lines.map(({ act, operatorEmail, detail }) => `${act} by ${operatorEmail}: ${detail}`);
    },
    [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose](),
  };
}
