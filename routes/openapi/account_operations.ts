/** Models and their state, and what the owner of a key may read of the account: operations and schemas. */
import type { ErrorCode } from "../../core/lib/errors/errors.ts";
import { callErrors, keyErrors } from "./error_answers.ts";
import type { ExampleModels } from "./example_models.ts";
import {
  inPath,
  inQuery,
  jsonAnswer,
  oneOf,
  type Operation,
  pageParameters,
  type Parameter,
} from "./operation.ts";
import type { JsonObject } from "../../core/lib/json/json.ts";
import { objectSchema, ref } from "../../core/lib/json/schemas.ts";
import {
  balanceFields,
  groupingPattern,
  receiptListFields,
  usageFields,
} from "../usage_api/usage_api.ts";
import { activityActs } from "../../kv/people/audit/account_activity.ts";
import { activityFields, activityListFields, activityRows } from "../usage_api/activity.ts";
import { askedStatus, callListFields, callListRows, refusedFields } from "../usage_api/calls.ts";
import { modelFields, modelListFields, modelListRows } from "../api/models/models.ts";
import {
  keySetFields,
  receiptProofFields,
  signedDayListFields,
  signedDayRows,
  statementProofFields,
} from "../usage_api/proofs.ts";
import { exportFormNames, exportForms } from "../usage_api/usage_export.ts";
import { statementFileKinds } from "../usage_api/statements/statement_files.ts";
import { statementFormats, statementLanguages } from "../usage_api/statements.ts";
import { rowLimitSchema } from "../http/query.ts";
import { grains } from "../usage_api/period.ts";
import { maxUsageDays } from "../usage_api/range.ts";
import { metrics, seriesFields } from "../usage_api/series.ts";
import { geminiModelFields, geminiModelListFields } from "../api/gemini/endpoints.ts";
import { statusFields } from "../api/status.ts";
import { generationFields, receiptFields } from "../usage_api/receipt_json.ts";
import { statementFields, statementListFields } from "../usage_api/statements/statement_json.ts";

const anyOf = (...schemas: readonly string[]): JsonObject => ({ anyOf: schemas.map(ref) });

const days: readonly Parameter[] = [
  inQuery("from", "First day, in Vietnam time.", { schema: { type: "string", format: "date" } }),
  inQuery("to", "Last day, in Vietnam time; today if it is left out.", {
    schema: { type: "string", format: "date" },
  }),
];

const filters: readonly Parameter[] = [
  inQuery("key", "Only calls of the key with this id."),
  inQuery("model", "Only calls of the model with this id."),
  inQuery("tag", "Only calls with this tag, as its key, a colon and its value.", {
    example: "team:search",
  }),
];

const requestId = inPath("id", "Id of the request.");

const month = inPath("month", "A month in Vietnam time.", {
  schema: { type: "string", pattern: "^\\d{4}-\\d\\d$" },
  example: "2026-11",
});

const common = { method: "get", errorStyle: "chat" } as const;

/** The operations on models. */
export function modelOperations(models: ExampleModels): readonly Operation[] {
  const ofModels = { ...common, tag: "Models" } as const;
  return [
    {
      ...ofModels,
      id: "listModels",
      path: "/v1/models",
      summary: "List of models",
      description:
        "The models that the key may use, with prices in VND, a row for each alias and each preset. With a header " +
        "`anthropic-version` the list has the shape of the Messages style, with `x-goog-api-key` that " +
        "of the Gemini style.",
      parameters: [
        inQuery("limit", "Most rows.", { schema: rowLimitSchema(modelListRows) }),
        inQuery("after_id", "Messages shape: rows after this one."),
        inQuery("before_id", "Messages shape: rows before this one."),
      ],
      answers: [{
        description: "The models.",
        content: { "application/json": anyOf("ModelList", "MessagesModelList", "GeminiModelList") },
      }],
      errorStyle: "asked",
      errors: [...callErrors, "invalid_request"],
    },
    {
      ...ofModels,
      id: "getModel",
      path: "/v1/models/{id}",
      summary: "One model",
      description: "One model by its id, an alias or a preset.",
      parameters: [
        inPath("id", "Id or alias of the model, or `@preset/name`.", { example: models.chat }),
      ],
      answers: [{
        description: "The model.",
        content: { "application/json": anyOf("Model", "MessagesModel", "GeminiModel") },
      }],
      errorStyle: "asked",
      errors: [...callErrors, "invalid_request", "model_not_found"],
    },
    {
      ...ofModels,
      id: "getStatus",
      path: "/v1/status",
      summary: "State of the models",
      description: "How each model does: state, time to the first output, availability of a day.",
      answers: [jsonAnswer("The state.", "Status")],
      errors: ["internal_error"],
      isPublic: true,
    },
  ];
}

/** Errors of what an API key or a management key reads. */
const readErrors = [...keyErrors, "rate_limit_reached"] as const satisfies readonly ErrorCode[];

/** The operations on the account. */
export function accountOperations(): readonly Operation[] {
  const ofAccount = { ...common, tag: "Account", managementKey: "too" } as const;
  return [
    {
      ...ofAccount,
      id: "getUsage",
      path: "/v1/usage",
      summary: "Usage",
      description: `Calls, tokens and cost in groups, of at most ${maxUsageDays} days.`,
      parameters: [
        ...days,
        ...filters,
        inQuery(
          "group_by",
          "What a row is: a day, key or model, or a value of a tag such as `tag:team`.",
          { schema: { type: "string", pattern: groupingPattern, default: "day" } },
        ),
      ],
      answers: [jsonAnswer("The sums.", "Usage")],
      errors: [...readErrors, "invalid_request"],
    },
    {
      ...ofAccount,
      id: "getUsageSeries",
      path: "/v1/usage/series",
      summary: "Usage over time",
      description:
        `The figures of a chart: a value for each hour, day or month, in parts. At most ${maxUsageDays} days at once, by ` +
        "hour of a week at most; tags have no figures by hour.",
      parameters: [
        ...days,
        ...filters,
        inQuery(
          "metric",
          "What is counted; `first` and `duration` are the median and the 95th percentile in milliseconds.",
          { schema: oneOf(metrics, "cost") },
        ),
        inQuery(
          "group_by",
          "What a part is: a model, key, member or team, or a value of a tag such as `tag:team`.",
          { schema: { type: "string", default: "model" } },
        ),
        inQuery("interval", "What a value is of; by default what suits the days.", {
          schema: oneOf(grains),
        }),
      ],
      answers: [jsonAnswer("The figures.", "UsageSeries")],
      errors: [...readErrors, "invalid_request"],
    },
    {
      ...ofAccount,
      id: "exportUsage",
      path: "/v1/usage/export",
      summary: "Receipts as a file",
      description:
        "The receipts of a period as one file for a spreadsheet or a data warehouse, streamed, newest first. CSV and " +
        `Parquet have the same columns, lines of JSON the fields of receipts. At most ${maxUsageDays} days at once.`,
      parameters: [
        ...days,
        ...filters,
        inQuery("format", "The form of the file.", {
          schema: oneOf(exportFormNames, "csv"),
        }),
      ],
      answers: [{
        description: "The file.",
        content: Object.fromEntries(
          Object.values(exportForms).map(({ type }) => [type, { type: "string" }]),
        ),
      }],
      errors: [...readErrors, "invalid_request"],
    },
    {
      ...ofAccount,
      id: "listReceipts",
      path: "/v1/receipts",
      summary: "Receipts",
      description: "The receipts of calls, newest first.",
      parameters: [...days, ...filters, ...pageParameters(callListRows)],
      answers: [jsonAnswer("A page of receipts.", "ReceiptList")],
      errors: [...readErrors, "invalid_request"],
    },
    {
      ...ofAccount,
      id: "getReceipt",
      path: "/v1/receipts/{id}",
      summary: "One receipt",
      description: "The receipt of a call, by its `x-request-id`.",
      parameters: [requestId],
      answers: [jsonAnswer("The receipt.", "Receipt")],
      errors: [...readErrors, "not_found"],
    },
    {
      ...ofAccount,
      id: "getGeneration",
      path: "/v1/generation",
      summary: "One call in the form of OpenRouter",
      description:
        "The receipt of a call as OpenRouter writes it, for tools that look calls up there; amounts are in VND. What the " +
        "gateway does not keep is `null`.",
      parameters: [
        inQuery(
          "id",
          "The `x-request-id` of the call, or the id of its answer if the gateway converted it.",
          { schema: { type: "string", minLength: 1 }, required: true },
        ),
      ],
      answers: [jsonAnswer("The call.", "Generation")],
      errors: [...readErrors, "invalid_request", "not_found"],
    },
    {
      ...ofAccount,
      id: "getReceiptProof",
      path: "/v1/receipts/{id}/proof",
      summary: "Proof of a receipt",
      description:
        "The path from a receipt to the signed root of its day, which anybody can check with the published keys. " +
        "A day is signed in the night after it.",
      parameters: [requestId],
      answers: [jsonAnswer("The proof.", "ReceiptProof")],
      errors: [...readErrors, "not_found"],
    },
    {
      ...ofAccount,
      id: "listStatements",
      path: "/v1/statements",
      summary: "Months with a statement",
      description: "The months of the account, from its first to this one.",
      answers: [jsonAnswer("The months.", "StatementList")],
      errors: readErrors,
    },
    {
      ...ofAccount,
      id: "getStatement",
      path: "/v1/statements/{month}",
      summary: "Statement of a month",
      description:
        "Balance before the month, every movement, calls by day, model and key, VAT, and balance at its end: as JSON, or " +
        "as a file for people in their language.",
      parameters: [
        month,
        inQuery("format", "The form of the answer.", {
          schema: oneOf(statementFormats, "json"),
        }),
        inQuery("language", "The language of a file.", {
          schema: oneOf(statementLanguages, "vi"),
        }),
      ],
      answers: [{
        description: "The statement.",
        content: {
          "application/json": ref("Statement"),
          ...Object.fromEntries(
            Object.values(statementFileKinds).map(({ type }) => [
              type,
              { type: "string", format: "binary" },
            ]),
          ),
        },
      }],
      errors: [...readErrors, "invalid_request", "overloaded"],
    },
    {
      ...ofAccount,
      id: "getStatementProof",
      path: "/v1/statements/{month}/proof",
      summary: "Proof of a month",
      description: "The paths from the balances before a month and at its end to signed roots.",
      parameters: [
        month,
      ],
      answers: [jsonAnswer("The proofs.", "StatementProof")],
      errors: [...readErrors, "invalid_request", "not_found"],
    },
    {
      ...ofAccount,
      id: "listSignedDays",
      path: "/v1/proofs/days",
      summary: "Signed days",
      description:
        "The days that are signed, the newest first: the root over all receipts of a day, the root over all balances at " +
        "its end, and the hash of the day before. Who keeps them notices any later change.",
      parameters: [
        inQuery("limit", "Most rows.", { schema: rowLimitSchema(signedDayRows) }),
        inQuery("before", "Only days before this one.", {
          schema: { type: "string", format: "date" },
        }),
      ],
      answers: [jsonAnswer("The days.", "SignedDayList")],
      errors: ["invalid_request", "internal_error"],
      isPublic: true,
    },
    {
      ...ofAccount,
      id: "getProofKeys",
      path: "/.well-known/gateway-proof-keys.json",
      summary: "Keys of proofs",
      description: "The Ed25519 keys that sign days, those that were replaced included.",
      answers: [jsonAnswer("The keys.", "ProofKeys")],
      errors: ["internal_error"],
      isPublic: true,
    },
    {
      ...ofAccount,
      id: "listCalls",
      path: "/v1/calls",
      summary: "Answered and refused calls",
      description:
        "Receipts of calls, and calls that were refused before a provider was asked, newest first.",
      parameters: [
        ...days,
        ...filters,
        inQuery("status", "`ok`, `error`, `refused`, `5xx` or an HTTP status.", {
          schema: { type: "string", pattern: askedStatus.source },
        }),
        inQuery("error", "An error code."),
        ...pageParameters(callListRows),
      ],
      answers: [jsonAnswer("A page of calls.", "CallList")],
      errors: [...readErrors, "invalid_request"],
    },
    {
      ...ofAccount,
      id: "getCall",
      path: "/v1/calls/{id}",
      summary: "One call",
      description: "A call by its `x-request-id`: its receipt, or why it was refused.",
      parameters: [requestId],
      answers: [jsonAnswer("The call.", "Call")],
      errors: [...readErrors, "not_found"],
    },
    {
      ...ofAccount,
      id: "listActivity",
      path: "/v1/activity",
      summary: "Activity log",
      description:
        "Who did what in the account, when, from where, and what it was before and after, newest first. Kept for two years.",
      parameters: [
        inQuery("act", "Only this act.", { schema: oneOf(activityActs) }),
        inQuery("person", "Only what this person (an address or an account) or key did."),
        inQuery("format", "`json`: a page; `csv`: all lines that fit, as one file.", {
          schema: oneOf(["json", "csv"], "json"),
        }),
        ...pageParameters(activityRows),
      ],
      answers: [{
        description: "The lines.",
        content: { "application/json": ref("ActivityList"), "text/csv": { type: "string" } },
      }],
      errors: [...readErrors, "invalid_request"],
    },
    {
      ...ofAccount,
      id: "getBalance",
      path: "/v1/balance",
      summary: "Balance",
      description: "The balance of the wallet, exact, in VND.",
      answers: [jsonAnswer("The balance.", "Balance")],
      errors: readErrors,
    },
  ];
}

// Schemas of lists of models, and of what the owner of a key may read: those of the fields that are answered.

/** The schemas of this group. */
export const accountSchemas: JsonObject = {
  Model: objectSchema("A model with its price.", modelFields.chat),
  ModelList: objectSchema("Models and aliases.", modelListFields.chat),
  MessagesModel: objectSchema("A model in the Messages style.", modelFields.messages),
  MessagesModelList: objectSchema("A page of models and aliases.", modelListFields.messages),
  GeminiModel: objectSchema("A chat model in the Gemini style.", geminiModelFields),
  GeminiModelList: objectSchema("A page of chat models.", geminiModelListFields),
  Status: objectSchema("How each model does.", statusFields),
  Usage: objectSchema("Sums of calls.", usageFields),
  UsageSeries: objectSchema("Figures of calls over time.", seriesFields),
  Receipt: objectSchema("What a call used and cost.", receiptFields),
  ReceiptList: objectSchema("A page of receipts.", receiptListFields),
  Generation: objectSchema("A call in the form of OpenRouter.", generationFields),
  RefusedCall: objectSchema(
    "A call that was refused before a provider was asked. It cost nothing.",
    refusedFields,
  ),
  Call: { anyOf: [ref("Receipt"), ref("RefusedCall")] },
  CallList: objectSchema("A page of calls.", callListFields),
  Activity: objectSchema("What somebody did in the account.", activityFields),
  ActivityList: objectSchema("A page of the activity log.", activityListFields),
  Balance: objectSchema("The wallet.", balanceFields),
  StatementList: objectSchema("The months of an account.", statementListFields),
  Statement: objectSchema("What happened to the balance in a month.", statementFields),
  ReceiptProof: objectSchema("That a receipt is among those of a signed day.", receiptProofFields),
  StatementProof: objectSchema(
    "What the account had before a month and at its end, as signed days say.",
    statementProofFields,
  ),
  SignedDayList: objectSchema("Signed days.", signedDayListFields),
  ProofKeys: objectSchema("The keys that sign days: a JSON Web Key Set.", keySetFields),
};
