/** Schemas of the endpoints beside chat. Those of requests are the fields by which they are read. */
import type { JsonObject } from "../../core/lib/json/json.ts";
import { objectSchema, text } from "../../core/lib/json/schemas.ts";
import { completionFields } from "../../core/media/completion/request.ts";
import { embeddingFields } from "../../core/media/embeddings/request.ts";
import { imageEditFields, imageFields } from "../../core/media/images/request.ts";
import { moderationFields } from "../../core/media/moderation/request.ts";
import { rerankFields } from "../../core/media/rerank/request.ts";
import { speechFields } from "../../core/media/speech/attempt.ts";
import { transcriptionFields } from "../../core/media/transcription/attempt.ts";
import { videoFields } from "../../core/media/video/request.ts";
import {
  videoAnswerFields,
  videoDeletedFields,
  videoListFields,
} from "../../core/media/video/task.ts";

function object(
  description: string,
  required: readonly string[],
  properties: JsonObject,
): JsonObject {
  return { type: "object", description, required: [...required], properties };
}

const requests: JsonObject = {
  ImageRequest: objectSchema("A request for pictures.", imageFields),
  ImageEditRequest: objectSchema("A request to change pictures.", imageEditFields),
  SpeechRequest: objectSchema("A text to speak.", speechFields),
  TranscriptionRequest: objectSchema("A recording.", transcriptionFields),
  EmbeddingRequest: objectSchema("Texts to turn into vectors.", embeddingFields),
  RerankRequest: objectSchema("Documents to rank by a query.", rerankFields),
  ModerationRequest: objectSchema("Texts and pictures to classify.", moderationFields),
  CompletionRequest: objectSchema("A text to continue.", completionFields),
  VideoRequest: objectSchema("A video to make; what a model takes is on its page.", videoFields),
};

const usage: JsonObject = { type: "object", description: "What the provider reports." };

const answers: JsonObject = {
  ImageList: object("The pictures.", ["data"], {
    created: { type: "integer" },
    data: {
      type: "array",
      items: { type: "object", properties: { b64_json: text, url: text, revised_prompt: text } },
    },
    usage,
  }),
  Transcript: object("What is said in the recording.", ["text"], { text, usage }),
  EmbeddingList: object("A vector for each input.", ["data"], {
    object: text,
    model: text,
    data: {
      type: "array",
      items: {
        type: "object",
        required: ["embedding"],
        properties: {
          index: { type: "integer" },
          embedding: { anyOf: [{ type: "array", items: { type: "number" } }, text] },
        },
      },
    },
    usage,
  }),
  RankList: object("The documents, best first.", ["results"], {
    results: {
      type: "array",
      items: {
        type: "object",
        required: ["index", "relevance_score"],
        properties: { index: { type: "integer" }, relevance_score: { type: "number" } },
      },
    },
  }),
  ModerationList: object("A result for each input.", ["results"], {
    id: text,
    model: text,
    results: {
      type: "array",
      items: {
        type: "object",
        required: ["flagged"],
        properties: { flagged: { type: "boolean" }, categories: { type: "object" } },
      },
    },
  }),
  Completion: object("The continued text.", ["object", "model", "choices"], {
    id: text,
    object: { const: "text_completion" },
    model: text,
    choices: {
      type: "array",
      items: {
        type: "object",
        required: ["text", "index"],
        properties: {
          text,
          index: { type: "integer" },
          finish_reason: { type: ["string", "null"] },
        },
      },
    },
    usage,
  }),
  Video: objectSchema("A task.", videoAnswerFields),
  VideoList: objectSchema("A page of tasks.", videoListFields),
  VideoDeleted: objectSchema("The task that was cancelled or removed.", videoDeletedFields),
  File: { type: "string", format: "binary", description: "The bytes of the file." },
};

/** The schemas of this group. */
export const mediaSchemas: JsonObject = { ...requests, ...answers };
