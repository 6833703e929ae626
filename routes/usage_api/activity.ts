/** `GET /v1/activity`: who did what in an account, as JSON by pages or as one CSV file; and the fields of both. */
import { type CsvColumn, csvHead, csvRow } from "../../core/lib/base/csv.ts";
import { GatewayError } from "../../core/lib/errors/errors.ts";
import { getAccount } from "../../kv/people/accounts/accounts.ts";
import { parseId } from "../../core/lib/ids/ids.ts";
import { fieldsJson } from "../../core/lib/json/fields.ts";
import type { JsonObject } from "../../core/lib/json/json.ts";
import {
  always,
  dateTime,
  type DescribedField,
  maybeText,
  objectField,
  optional,
  pageFields,
  text,
} from "../../core/lib/json/schemas.ts";
import { vietnamIsoTime } from "../../core/lib/time/vietnam_time.ts";
import type { KeyValueStore } from "../../kv/engine/store/key_value_store.ts";
import {
  activityActs,
  type ActivityFields,
  type ActivityFilter,
  type ActivityLine,
  allActivity,
  type Doer,
  findActivity,
  isActivityAct,
  writeActivity,
} from "../../kv/people/audit/account_activity.ts";
import {
  csvDownloadHeaders,
  fileStream,
  type RowBounds,
  rowLimit,
  wrongParameter,
} from "../http/query.ts";
import { type Answer, requireBalanceRight } from "./calls.ts";
import type { StatementDeps } from "./statements.ts";

/** Lines on one page of the list. */
export const activityRows: RowBounds = { most: 200, otherwise: 50 };

/** Characters of a filter by person: an address of mail. */
const maxPersonChars = 254;

/** Parts of a doer, for those who may not see the names of operators. */
function partsOf(by: Doer) {
  return {
    accountId: by.kind === "person" ? by.accountId : undefined,
    email: by.kind === "person" ? by.email : undefined,
    keyId: by.kind === "key" || by.kind === "management_key" ? by.keyId : undefined,
    address: "address" in by ? by.address : undefined,
    browser: "browser" in by ? by.browser : undefined,
  };
}

const doerKinds: Readonly<Record<Doer["kind"], true>> = {
  person: true,
  key: true,
  management_key: true,
  stranger: true,
  gateway: true,
  operator: true,
};

const doerFields: readonly DescribedField<Doer>[] = [
  always("kind", { type: "string", enum: Object.keys(doerKinds) }, ({ kind }) => kind),
  optional("account_id", text, (by) => partsOf(by).accountId),
  optional("email", text, (by) => partsOf(by).email),
  optional("key_id", text, (by) => partsOf(by).keyId),
  optional("address", text, (by) => partsOf(by).address),
  optional("browser", text, (by) => partsOf(by).browser),
];

const values: JsonObject = {
  type: ["object", "null"],
  description: "Names and values of what changed.",
  additionalProperties: text,
};

/** The fields of a line. */
export const activityFields: readonly DescribedField<ActivityLine>[] = [
  always("id", text, ({ id }) => id),
  always("at", dateTime, ({ atMs }) => new Date(atMs).toISOString()),
  always("act", { type: "string", enum: [...activityActs] }, ({ act }) => act),
  objectField("by", "Who did it, and from where.", doerFields, ({ by }) => by),
  always("subject", maybeText, ({ subject }) => subject === "" ? null : subject),
  always("before", values, ({ before }) => before === undefined ? null : { ...before }),
  always("after", values, ({ after }) => after === undefined ? null : { ...after }),
];

/** The fields of a page of lines. */
export const activityListFields = pageFields("Activity");

const shown = (fields: ActivityFields | undefined) =>
  fields === undefined ? undefined : JSON.stringify(fields);

const columns: readonly CsvColumn<ActivityLine>[] = [
  { name: "done_at", cell: ({ atMs }) => vietnamIsoTime(atMs) },
  { name: "act", cell: ({ act }) => act },
  { name: "by", cell: ({ by }) => by.kind },
  { name: "email", cell: ({ by }) => partsOf(by).email },
  { name: "account_or_key", cell: ({ by }) => partsOf(by).accountId ?? partsOf(by).keyId },
  { name: "address", cell: ({ by }) => partsOf(by).address },
  { name: "browser", cell: ({ by }) => partsOf(by).browser },
  { name: "subject", cell: ({ subject }) => subject },
  { name: "before", cell: ({ before }) => shown(before) },
  { name: "after", cell: ({ after }) => shown(after) },
  { name: "id", cell: ({ id }) => id },
];

/** Rows that are written at once. */
const rowsPerChunk = 200;

async function* csvText(lines: AsyncIterable<ActivityLine>): AsyncGenerator<string> {
  let chunk = csvHead(columns);
  let rows = 0;
  for await (const line of lines) {
    chunk += csvRow(columns, line);
    if (++rows % rowsPerChunk > 0) continue;
    yield chunk;
    chunk = "";
  }
  yield chunk;
}

/** Makes the CSV file of the lines that fit, newest first. */
export async function activityFile(
  kv: KeyValueStore,
  accountId: Parameters<typeof allActivity>[1],
  filter: ActivityFilter,
): Promise<Response> {
  const file = await fileStream(csvText(allActivity(kv, accountId, filter)));
  return new Response(file.pipeThrough(new TextEncoderStream()), {
    headers: csvDownloadHeaders("activity.csv"),
  });
}

/** Makes a page of the lines that fit, newest first. */
export async function activityPage(
  kv: KeyValueStore,
  accountId: Parameters<typeof findActivity>[1],
  search: Parameters<typeof findActivity>[2],
): Promise<JsonObject> {
  const { lines, next } = await findActivity(kv, accountId, search);
  return fieldsJson(activityListFields, {
    data: lines.map((line) => fieldsJson(activityFields, line)),
    firstId: lines[0]?.id,
    lastId: next ?? lines.at(-1)?.id,
    hasMore: next !== undefined,
  });
}

/** Answers with the lines of the account. */
export function activityAnswer({ kv, clock }: Pick<StatementDeps, "kv" | "clock">): Answer {
  return async (c, reader) => {
    requireBalanceRight(reader);
    const { accountId, program: by } = reader;
    // Members whose roles may not see the log have API keys, too.
    if (by === undefined && (await getAccount(kv, accountId))?.organisation !== undefined) {
      throw new GatewayError(
        "permission_denied",
        "Organisations read their activity with a management key",
      );
    }
    const { searchParams } = new URL(c.req.url);
    const act = c.req.query("act");
    if (act !== undefined && !isActivityAct(act)) {
      throw wrongParameter("act", `must be one of ${activityActs.join(", ")}`);
    }
    const filter = { act, person: c.req.query("person")?.slice(0, maxPersonChars) };
    const format = c.req.query("format") ?? "json";
    if (format === "csv") {
      const line = { accountId, act: "activity_exported", atMs: clock.nowMs() } as const;
      if (by !== undefined) await writeActivity(kv, { ...line, by });
      return await activityFile(kv, accountId, filter);
    }
    if (format !== "json") throw wrongParameter("format", "must be json or csv");
    const cursor = c.req.query("before");
    const before = cursor === undefined ? undefined : parseId("activity", cursor);
    if (cursor !== undefined && before === undefined) {
      throw wrongParameter("before", "must be the id of a line");
    }
    const count = rowLimit(searchParams, activityRows);
    return await activityPage(kv, accountId, { count, before, ...filter });
  };
}
