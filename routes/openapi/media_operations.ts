/** Operations and schemas of everything that a model makes or reads beside chat. */
import { objectSchema, ref } from "../../core/lib/json/schemas.ts";
import { paidErrors } from "./error_answers.ts";
import type { ExampleModels } from "./example_models.ts";
import { callParameters, costHeaderNames, strictParameter } from "./headers.ts";
import { inPath, jsonAnswer, type Operation, type OperationAnswer } from "./operation.ts";
import type { JsonObject } from "../../core/lib/json/json.ts";
import { completionAnswerSchema } from "../../core/media/completion/attempt.ts";
import { completionFields } from "../../core/media/completion/request.ts";
import { embeddingAnswerSchema, embeddingFields } from "../../core/media/embeddings/request.ts";
import {
  geminiEmbeddingAnswers,
  geminiEmbeddingBatchFields,
  geminiEmbeddingFields,
} from "../../core/media/embeddings/gemini_form.ts";
import { imageAnswerSchema } from "../../core/media/images/answer.ts";
import { imageEditFields, imageFields } from "../../core/media/images/request.ts";
import { moderationAnswerSchema, moderationFields } from "../../core/media/moderation/request.ts";
import { rerankAnswerSchema, rerankFields } from "../../core/media/rerank/request.ts";
import { speechFields } from "../../core/media/speech/attempt.ts";
import { transcriptionFields, transcriptSchema } from "../../core/media/transcription/attempt.ts";
import { videoFields } from "../../core/media/video/request.ts";
import {
  videoAnswerFields,
  videoDeletedFields,
  videoListFields,
} from "../../core/media/video/task.ts";

const common = {
  method: "post",
  parameters: callParameters,
  errorStyle: "chat",
  errors: paidErrors,
} as const;

function paidAnswer(description: string, schema: string): OperationAnswer {
  return jsonAnswer(description, schema, costHeaderNames);
}

function jsonOrEvents(description: string, schema: string): OperationAnswer {
  const { content, ...rest } = paidAnswer(description, schema);
  return { ...rest, content: { ...content, "text/event-stream": ref("EventStream") } };
}

const embeddingModel = (models: ExampleModels) =>
  inPath("model", "Id or alias of a model of embeddings.", { example: models.embedding });

/** The operations of this group. */
export function mediaOperations(models: ExampleModels): readonly Operation[] {
  return [...textOperations(models), ...imageOperations(models), ...audioOperations(models)];
}

function textOperations(models: ExampleModels): readonly Operation[] {
  return [
    {
      ...common,
      id: "createEmbeddings",
      tag: "Text",
      path: "/v1/embeddings",
      summary: "Embeddings",
      description: "Turns texts into vectors. The vectors pass as the provider wrote them.",
      body: {
        schema: ref("EmbeddingRequest"),
        example: { model: models.embedding, input: ["Xin chào", "Hello"] },
      },
      answers: [paidAnswer("The vectors.", "EmbeddingList")],
    },
    {
      ...common,
      id: "embedContent",
      tag: "Text",
      path: "/v1beta/models/{model}:embedContent",
      summary: "Embedding, Gemini",
      description:
        "Turns a text into a vector, in the Gemini style. `taskType` and `title` are named in `x-gateway-conversion`: no " +
        "other provider has them.",
      parameters: [embeddingModel(models), ...callParameters, strictParameter],
      errorStyle: "gemini",
      errors: [...paidErrors, "conversion_refused"],
      body: {
        schema: ref("EmbedContentRequest"),
        example: { content: { parts: [{ text: "Xin chào" }] } },
      },
      answers: [paidAnswer("The vector.", "EmbedContentResponse")],
    },
    {
      ...common,
      id: "batchEmbedContents",
      tag: "Text",
      path: "/v1beta/models/{model}:batchEmbedContents",
      summary: "Embeddings, Gemini",
      description: "The same for up to 100 texts, as one call.",
      parameters: [embeddingModel(models), ...callParameters, strictParameter],
      errorStyle: "gemini",
      errors: [...paidErrors, "conversion_refused"],
      body: {
        schema: ref("BatchEmbedContentsRequest"),
        example: { requests: [{ content: { parts: [{ text: "Xin chào" }] } }] },
      },
      answers: [paidAnswer("The vectors.", "BatchEmbedContentsResponse")],
    },
    {
      ...common,
      id: "rerank",
      tag: "Text",
      path: "/v1/rerank",
      summary: "Rerank",
      description: "Ranks documents by a query.",
      body: {
        schema: ref("RerankRequest"),
        example: {
          model: models.rerank,
          query: "Where is the balance?",
          documents: ["The wallet shows the balance.", "Keys are revoked on their page."],
        },
      },
      answers: [paidAnswer("The ranks.", "RankList")],
    },
    {
      ...common,
      id: "createModeration",
      tag: "Text",
      path: "/v1/moderations",
      summary: "Moderation",
      description: "Classifies texts and pictures. Without `model`, the first of this kind.",
      body: {
        schema: ref("ModerationRequest"),
        example: { model: models.moderation, input: "A text to check" },
      },
      answers: [paidAnswer("The results.", "ModerationList")],
    },
    {
      ...common,
      id: "createCompletion",
      tag: "Text",
      path: "/v1/completions",
      summary: "Completions",
      description: "Continues a text: by a completion model, or by a chat model.",
      body: {
        schema: ref("CompletionRequest"),
        example: { model: models.chat, prompt: "Once upon a time", max_tokens: 16 },
      },
      answers: [jsonOrEvents("The text.", "Completion")],
      errors: [...paidErrors, "conversion_refused", "context_length_exceeded"],
    },
  ];
}

const jsonOrForm = ["application/json", "multipart/form-data"] as const;

function imageOperations(models: ExampleModels): readonly Operation[] {
  return [
    {
      ...common,
      id: "createImage",
      tag: "Media",
      path: "/v1/images/generations",
      summary: "Make images",
      description: "Makes pictures. Only pictures that arrive are charged.",
      body: {
        schema: ref("ImageRequest"),
        types: jsonOrForm,
        example: { model: models.image, prompt: "A lotus in the rain", size: "1024x1024" },
      },
      answers: [jsonOrEvents("The pictures.", "ImageList")],
    },
    {
      ...common,
      id: "editImage",
      tag: "Media",
      path: "/v1/images/edits",
      summary: "Change images",
      description: "Changes up to 16 pictures by a prompt. `image_url` is another name of `image`.",
      body: {
        schema: ref("ImageEditRequest"),
        types: jsonOrForm,
        example: {
          model: models.image,
          prompt: "Make it night",
          image: "https://example.com/lotus.png",
        },
      },
      answers: [jsonOrEvents("The pictures.", "ImageList")],
    },
  ];
}

function audioOperations(models: ExampleModels): readonly Operation[] {
  const transcription = {
    ...common,
    tag: "Media",
    body: {
      schema: ref("TranscriptionRequest"),
      types: ["multipart/form-data"],
      example: { model: models.transcription, file: "hello.mp3" },
    },
    answers: [{
      description: "The text, in the format that was asked for.",
      content: {
        "application/json": ref("Transcript"),
        "text/event-stream": ref("EventStream"),
        "text/plain": { type: "string" },
      },
      headers: costHeaderNames,
    }],
  } as const;
  return [
    {
      ...common,
      id: "createSpeech",
      tag: "Media",
      path: "/v1/audio/speech",
      summary: "Speak a text",
      description: "Answers with audio as the provider makes it.",
      body: {
        schema: ref("SpeechRequest"),
        example: { model: models.speech, input: "Xin chào!", voice: "alloy" },
      },
      answers: [{
        description: "The audio.",
        content: {
          "audio/mpeg": ref("File"),
          "audio/*": ref("File"),
          "application/octet-stream": ref("File"),
          "text/event-stream": ref("EventStream"),
        },
      }],
    },
    {
      ...transcription,
      id: "createTranscription",
      path: "/v1/audio/transcriptions",
      summary: "Write down a recording",
      description: "Writes down what is said in an audio file. Charged by the second.",
    },
    {
      ...transcription,
      id: "createTranslation",
      path: "/v1/audio/translations",
      summary: "Write down a recording in English",
      description: "Writes in English what is said in an audio file. Charged by the second.",
    },
  ];
}

// Schemas of the endpoints beside chat. Those of requests are the fields by which they are read.

const requests: JsonObject = {
  ImageRequest: objectSchema("A request for pictures.", imageFields),
  ImageEditRequest: objectSchema("A request to change pictures.", imageEditFields),
  SpeechRequest: objectSchema("A text to speak.", speechFields),
  TranscriptionRequest: objectSchema("A recording.", transcriptionFields),
  EmbeddingRequest: objectSchema("Texts to turn into vectors.", embeddingFields),
  EmbedContentRequest: objectSchema("A text to turn into a vector.", geminiEmbeddingFields),
  BatchEmbedContentsRequest: objectSchema(
    "Texts to turn into vectors.",
    geminiEmbeddingBatchFields,
  ),
  RerankRequest: objectSchema("Documents to rank by a query.", rerankFields),
  ModerationRequest: objectSchema("Texts and pictures to classify.", moderationFields),
  CompletionRequest: objectSchema("A text to continue.", completionFields),
  VideoRequest: objectSchema("A video to make; what a model takes is on its page.", videoFields),
};

const answers: JsonObject = {
  ImageList: imageAnswerSchema,
  Transcript: transcriptSchema,
  EmbeddingList: embeddingAnswerSchema,
  EmbedContentResponse: geminiEmbeddingAnswers.embedContent,
  BatchEmbedContentsResponse: geminiEmbeddingAnswers.batchEmbedContents,
  RankList: rerankAnswerSchema,
  ModerationList: moderationAnswerSchema,
  Completion: completionAnswerSchema,
  Video: objectSchema("A task.", videoAnswerFields),
  VideoList: objectSchema("A page of tasks.", videoListFields),
  VideoDeleted: objectSchema("The task that was cancelled or removed.", videoDeletedFields),
  File: { type: "string", format: "binary", description: "The bytes of the file." },
};

/** The schemas of this group. */
export const mediaSchemas: JsonObject = { ...requests, ...answers };
