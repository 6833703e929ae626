/** Assembles the OpenAPI document. */
import { defaultBrand } from "../../core/people/mail/brand.ts";
import { isJsonObject, type JsonObject } from "../../core/lib/json/json.ts";
import { accountOperations, accountSchemas, modelOperations } from "./account_operations.ts";
import { appOperations, appSchemas } from "./app_operations.ts";
import { chatOperations } from "./chat_operations.ts";
import { chatSchemas } from "./chat_schemas.ts";
import { errorAnswerComponents, errorAnswers, errorBodySchemas } from "./error_answers.ts";
import type { ExampleModels } from "./example_models.ts";
import { everyAnswerHeaders, headerComponents, rateHeaderNames } from "./headers.ts";
import { managementApiOperations, managementSchemas } from "./management_operations.ts";
import { mediaOperations, mediaSchemas } from "./media_operations.ts";
import { type Operation, type OperationAnswer, type Parameter, tags } from "./operation.ts";
import { videoOperations } from "./video_operations.ts";

/** Needs of the document. */
export interface DocumentOptions {
  /** Address of the service, without a trailing slash; `/` if it is not known. */
  readonly server: string;
  readonly models: ExampleModels;
  /** The name of the service; absent: that of the project. */
  readonly brand?: string | undefined;
}

/** Lists every operation of the customer API. */
export function customerOperations(models: ExampleModels): readonly Operation[] {
  return [
    ...chatOperations(models),
    ...modelOperations(models),
    ...mediaOperations(models),
    ...videoOperations(models),
    ...accountOperations(),
    ...managementApiOperations,
    ...appOperations,
  ];
}

/** The headers in which a key may be; any of them is enough. */
const securitySchemes: JsonObject = {
  bearer: { type: "http", scheme: "bearer", description: "As Chat Completions clients send it." },
  apiKey: {
    type: "apiKey",
    in: "header",
    name: "x-api-key",
    description: "As Messages clients send it.",
  },
  googleKey: {
    type: "apiKey",
    in: "header",
    name: "x-goog-api-key",
    description: "As Gemini clients send it.",
  },
  azureKey: {
    type: "apiKey",
    in: "header",
    name: "api-key",
    description: "As clients of Azure send it.",
  },
  managementKey: {
    type: "http",
    scheme: "bearer",
    description: "A management key of an organisation (`mk-…`).",
  },
};

/** The schemes of an API key. */
const apiKeySchemes: readonly string[] = ["bearer", "apiKey", "googleKey", "azureKey"];

/** The schemes of the keys that an operation takes. */
function schemesOf({ isPublic, managementKey }: Operation): readonly string[] {
  if (isPublic === true) return [];
  if (managementKey === undefined) return apiKeySchemes;
  return managementKey === "only" ? ["managementKey"] : [...apiKeySchemes, "managementKey"];
}

const intro = [
  "One key for every model, paid by the call from a prepaid wallet in VND.",
  "",
  "Any chat model can be called in any chat style. Errors cost nothing, and every answer has an",
  "`x-request-id`, under which its receipt is found. `retry-after` says when a retry can help.",
].join("\n");

/** Makes the document. */
export function openApiDocument(
  { server, models, brand = defaultBrand.name }: DocumentOptions,
): JsonObject {
  const paths: Record<string, JsonObject> = {};
  for (const operation of customerOperations(models)) {
    (paths[operation.path] ??= {})[operation.method] = operationObject(operation);
  }
  return {
    openapi: "3.1.0",
    info: {
      title: brand,
      version: "1",
      summary: "Text, images, speech and video of many providers behind the usual APIs.",
      description: intro,
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: server }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    security: apiKeySchemes.map((name) => ({ [name]: [] })),
    paths,
    components: {
      securitySchemes,
      headers: headerComponents,
      responses: usedAnswers(paths),
      schemas: {
        ...chatSchemas,
        MessagesTokenCountRequest: countRequest(),
        ...mediaSchemas,
        ...accountSchemas,
        ...managementSchemas,
        ...appSchemas,
        ...errorBodySchemas,
      },
    },
  };
}

/** The error answers that some operation refers to. */
function usedAnswers(paths: JsonObject): JsonObject {
  const text = JSON.stringify(paths);
  return Object.fromEntries(
    Object.entries(errorAnswerComponents())
      .filter(([name]) => text.includes(`"#/components/responses/${name}"`)),
  );
}

/** A Messages request without what only an answer needs. */
function countRequest(): JsonObject {
  const { MessagesRequest: request } = chatSchemas;
  const properties = isJsonObject(request) ? request["properties"] : undefined;
  if (!isJsonObject(properties)) throw new TypeError("the schema of Messages requests is missing");
  return {
    type: "object",
    description: "A prompt to count, in the Messages style.",
    required: ["model", "messages"],
    properties: Object.fromEntries(
      Object.keys(properties).filter((name) => name !== "max_tokens" && name !== "stream").map((
        name,
      ) => [name, { $ref: `#/components/schemas/MessagesRequest/properties/${name}` }]),
    ),
  };
}

function operationObject(operation: Operation): JsonObject {
  const { id, tag, summary, description, parameters = [], body } = operation;
  const own: JsonObject = {};
  if (parameters.length > 0) own["parameters"] = parameters.map(parameterObject);
  if (body !== undefined) {
    const media = { schema: body.schema, example: body.example };
    own["requestBody"] = {
      required: true,
      content: Object.fromEntries(
        (body.types ?? ["application/json"]).map((type) => [type, media]),
      ),
    };
  }
  const schemes = schemesOf(operation);
  if (schemes !== apiKeySchemes) own["security"] = schemes.map((name) => ({ [name]: [] }));
  return {
    operationId: id,
    tags: [tag],
    summary,
    description,
    ...own,
    responses: {
      ...Object.fromEntries(
        operation.answers.map((answer) => answerEntry(withLimitHeaders(answer, operation))),
      ),
      ...errorAnswers(operation.errors, operation.errorStyle),
    },
  };
}

function parameterObject(
  { name, in: place, description, schema, required, example }: Parameter,
): JsonObject {
  return {
    name,
    in: place,
    description,
    required: required ?? place === "path",
    schema,
    ...(example === undefined ? {} : { example }),
  };
}

/** Adds the headers of rate limits to answers of calls that count against them. */
function withLimitHeaders(
  answer: OperationAnswer,
  { errors, errorStyle }: Operation,
): OperationAnswer {
  if (errorStyle === "asked" || !errors.includes("rate_limit_reached")) return answer;
  return { ...answer, headers: [...answer.headers ?? [], ...rateHeaderNames(errorStyle)] };
}

function answerEntry(
  { status = 200, description, content, headers = [] }: OperationAnswer,
): [string, JsonObject] {
  return [String(status), {
    description,
    headers: Object.fromEntries(
      [...everyAnswerHeaders, ...headers]
        .map((name) => [name, { $ref: `#/components/headers/${name}` }]),
    ),
    ...(Object.keys(content).length === 0 ? {} : {
      content: Object.fromEntries(
        Object.entries(content).map(([type, schema]) => [type, { schema }]),
      ),
    }),
  }];
}
