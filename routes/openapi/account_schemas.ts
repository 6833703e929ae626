/** Schemas of lists of models, and of what the owner of a key may read: those of the fields that are answered. */
import type { JsonObject } from "../../core/lib/json/json.ts";
import { objectSchema, ref } from "../../core/lib/json/schemas.ts";
import { geminiModelFields, geminiModelListFields } from "../api/gemini/endpoints.ts";
import { modelFields, modelListFields } from "../api/models/models.ts";
import { statusFields } from "../api/status.ts";
import { activityFields, activityListFields } from "../usage_api/activity.ts";
import { callListFields, refusedFields } from "../usage_api/calls.ts";
import {
  keySetFields,
  receiptProofFields,
  signedDayListFields,
  statementProofFields,
} from "../usage_api/proofs.ts";
import { seriesFields } from "../usage_api/series.ts";
import { generationFields, receiptFields } from "../usage_api/receipt_json.ts";
import { statementFields, statementListFields } from "../usage_api/statements/statement_json.ts";
import { balanceFields, receiptListFields, usageFields } from "../usage_api/usage_api.ts";

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
