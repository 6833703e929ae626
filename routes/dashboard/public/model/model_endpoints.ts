/** The endpoints that serve a kind of model, and a call of it to copy. */
import type { ModelKind } from "../../../../core/catalog/catalog.ts";
import { customerOperations } from "../../../openapi/document.ts";
import type { ExampleModels } from "../../../openapi/example_models.ts";
import type { Operation } from "../../../openapi/operation.ts";
import { curlOf } from "../docs/reference.tsx";

/** The operations that call a model of each kind; the first one is the example. */
const operationIds: Readonly<Record<ModelKind, readonly string[]>> = {
  chat: ["createChatCompletion", "createMessage", "createResponse", "generateContent"],
  image: ["createImage", "editImage"],
  speech: ["createSpeech"],
  video: ["createVideo"],
  embedding: ["createEmbeddings"],
  transcription: ["createTranscription", "createTranslation"],
  rerank: ["rerank"],
  moderation: ["createModeration"],
  completion: ["createCompletion"],
};

/** Endpoints of a model. */
export interface ModelEndpoints {
  readonly operations: readonly Operation[];
  /** A call for a shell. */
  readonly curl: string;
}

/** Returns the endpoints of a model of `kind`. */
export function modelEndpoints(
  kind: ModelKind,
  id: string,
  { baseUrl, examples }: { readonly baseUrl: string; readonly examples: ExampleModels },
): ModelEndpoints {
  const all = customerOperations({ ...examples, [kind]: id });
  const operations = operationIds[kind].flatMap((name) => all.filter((one) => one.id === name));
  const [first] = operations;
  if (first === undefined) return { operations, curl: "" };
  const { method, path, body } = first;
  const operation = body === undefined ? {} : {
    requestBody: {
      content: { [body.types?.[0] ?? "application/json"]: { example: body.example } },
    },
  };
  return { operations, curl: curlOf({ method, path, operation }, baseUrl) };
}
