/**
 * Each member of each input that is left out, of another type, out of its bounds, unknown, or of no form of a union is
 * refused by the name that the program sent, with what is accepted: for all operations of customers and of operators.
 */
import { z } from "zod";
import { assert, assertEquals } from "../../support/assert.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../core/lib/json/json.ts";
import { newId } from "../../../core/lib/ids/ids.ts";
import { managementOperations } from "../../../routes/management_api/operations.ts";
import {
  operationNames,
  operationPaths,
} from "../../../routes/operator/operations/contract/paths.ts";
import { operations } from "../../../routes/operator/operations/operations.ts";
import { openManagementWorld } from "../../support/worlds/management_world.ts";
import { operatorApi } from "../../support/worlds/operator_api.ts";
import { rightInputs, type WrongInput, wrongInputs } from "../../support/wrong_inputs.ts";

const nowMs = Date.UTC(2026, 10, 28, 3);

/** Words of the schema library, which say nothing to whoever sent the input. */
const foreignWords =
  /Invalid|expected|received|Too (?:small|big)|Unrecognized|has the wrong form|undefined|nonoptional|\/\^/;

/** What is wrong with a refusal of an input. */
function faultsOf(
  { field, accepts }: WrongInput,
  { status, body }: { readonly status: number; readonly body: Json },
): string[] {
  const error = isJsonObject(body) && isJsonObject(body["error"]) ? body["error"] : {};
  const message = String(error["message"]);
  const words = message.slice(field.length + 2);
  return [
    ...(status === 400 ? [] : [`status ${status}`]),
    ...(error["param"] === field ? [] : [`param ${error["param"]}`]),
    ...(message.startsWith(`${field}: `) ? [] : ["names another member"]),
    ...(foreignWords.test(message) ? ["words of the library"] : []),
    ...(/^(?:must|is required|is not known)/.test(words) ? [] : ["does not say what is accepted"]),
    ...accepts.filter((one) => !words.replaceAll(/[",]/g, " ").split(/\s/).includes(one))
      .map((one) => `does not name ${one}`),
  ].map((fault) => `${fault}: ${message}`);
}

interface Asked {
  readonly name: string;
  readonly schema: JsonObject;
  readonly textOf: (field: string) => Json | undefined;
  /** A query has no types. */
  readonly isQuery?: boolean;
  readonly send: (sent: Json) => Promise<{ readonly status: number; readonly body: Json }>;
}

/** Tries all wrong inputs of an operation; returns how many, and what is wrong with the refusals. */
async function tryAll(
  { name, schema, textOf, send, isQuery = false }: Asked,
): Promise<{ readonly tried: number; readonly faults: readonly string[] }> {
  const wrong = wrongInputs(schema, textOf).filter(({ what }) =>
    !isQuery || what !== "another type"
  );
  const faults: string[] = [];
  for (const input of wrong) {
    const found = faultsOf(input, await send(input.sent));
    faults.push(...found.map((fault) => `${name}, ${input.field} ${input.what}: ${fault}`));
  }
  return { tried: wrong.length, faults };
}

// Customers, by the management API.

/** What parameters of paths are, by what stands before them. */
const pathValues: Readonly<Record<string, string>> = {
  keys: newId("apiKey", nowMs),
  members: newId("account", nowMs),
  teams: newId("team", nowMs),
  webhooks: newId("webhookEndpoint", nowMs),
};

/** Members whose text has a form that the schema does not say. */
const customerTexts: Readonly<Record<string, Json>> = {
  team_id: newId("team", nowMs),
  expires_at: "2027-01-01T00:00:00Z",
  "allowed_ips.0": "10.0.0.0/8",
  email: "an@example.com",
  "subject.key_id": newId("apiKey", nowMs),
  "subject.key": "team",
  "tags.0": "team",
  domain: "acme.example",
  token: "12345:abcdefghij_12345",
  chat_id: "-1001234567",
  issuer: "https://id.acme.example",
};

Deno.test("the management API names each wrong member, and says what it takes", async () => {
  await using world = await openManagementWorld();
  const results = [];
  for (const operation of managementOperations) {
    if (!("body" in operation) || operation.body === undefined) continue;
    const { id, method, path, body } = operation;
    // A management key has so many requests a minute.
    await world.time.advance(60_000);
    const filled = path.replace("/v1/organisation", "").replaceAll(
      /(\w+)\/\{\w+\}/g,
      (_, before: string) => `${before}/${pathValues[before] ?? "x"}`,
    );
    results.push(
      await tryAll({
        name: id,
        schema: body.describe(),
        textOf: (field) => customerTexts[field],
        async send(sent) {
          const { status, body } = await world.send(method.toUpperCase(), filled, { body: sent });
          return { status, body };
        },
      }),
    );
  }
  assertEquals(results.flatMap(({ faults }) => faults), []);
  const tried = results.reduce((sum, one) => sum + one.tried, 0);
  assert(tried > 300, String(tried));
});

// Operators, by their API. The commands send the same inputs to the same operations.

const operatorTexts: Readonly<Record<string, Json>> = {
  from: "2026-11-01",
  to: "2026-11-02",
  date: "2026-11-02",
  name: "first-key",
  key: "first-key",
  catalog: {},
  effective_from: "2026-12-01T00:00:00+07:00",
  status: "ok",
};

/** Inputs that have a reader of their own, which pages and programs share, and tests beside it. */
const readElsewhere = new Set<string>(["campaigns.make"]);

/** A schema without the members that come from the path. */
function without(schema: JsonObject, names: readonly string[]): JsonObject {
  const { properties, required } = schema;
  const members = Object.entries(isJsonObject(properties) ? properties : {});
  return {
    ...schema,
    properties: Object.fromEntries(members.filter(([name]) => !names.includes(name))),
    required: (Array.isArray(required) ? required : []).filter((one) =>
      !names.includes(String(one))
    ),
  };
}

/** Sends an input as a query, which has texts only, or as a body. */
function sendAs(
  { send }: Pick<Awaited<ReturnType<typeof operatorApi>>, "send">,
  method: string,
  path: string,
  sent: Json,
) {
  if (method !== "GET") return send(method, path, sent);
  assert(isJsonObject(sent));
  const texts = Object.entries(sent).map((
    [name, value],
  ): [string, string] => [name, String(value)]);
  return send(method, `${path}?${new URLSearchParams(texts)}`);
}

Deno.test("the operators' API names each wrong member, and says what it takes", async () => {
  await using world = await operatorApi();
  const results = [];
  // No program moves money; what persons type is read by pages and commands, with tests beside them.
  const sentByPrograms = operationNames.filter((one) =>
    !readElsewhere.has(one) && operations[one].authority === undefined
  );
  for (const name of sentByPrograms) {
    const { method, path } = operationPaths[name];
    const { input } = operations[name].schemas;
    const schema: unknown = JSON.parse(
      JSON.stringify(z.toJSONSchema(input, { io: "input", unrepresentable: "any" })),
    );
    assert(isJsonObject(schema));
    const textOf = (field: string) => operatorTexts[field];
    for (const right of rightInputs(schema, textOf)) {
      assertEquals(input.safeParse(right).error?.issues, undefined, name);
    }
    const inPath = Array.from(path.matchAll(/:(\w+)/g), ([, field = ""]) => field);
    const [wanted = {}] = rightInputs(schema, textOf);
    assert(isJsonObject(wanted));
    const filled = path.replaceAll(
      /:(\w+)(?:\{[^}]*\})?/g,
      (_, field: string) => encodeURIComponent(String(wanted[field] ?? "x")),
    );
    const sentSchema = without(schema, inPath);
    results.push(
      await tryAll({
        name,
        schema: sentSchema,
        textOf,
        send: (sent) => sendAs(world, method, filled, sent),
        isQuery: method === "GET",
      }),
    );
  }
  assertEquals(results.flatMap(({ faults }) => faults), []);
  const tried = results.reduce((sum, one) => sum + one.tried, 0);
  assert(tried > 150, String(tried));
});
