/**
 * Statements of an archive, which both databases share, and where their SQL differs.
 *
 * Statements name their parameters `$1`, `$2` …; SQLite gets them as `?1`. Names of tables begin with a prefix where the
 * database has others.
 */
import {
  callColumns,
  callMembers,
  type ColumnKind,
  type ColumnTypes,
  countedCells,
} from "./archive_tables.ts";
import { columnText } from "./receipt_rows.ts";
import type { ColumnFilter, FilteredReading, TimeRange } from "./receipt_archive.ts";

/** A parameter of a statement. Amounts are texts, of which a number would lose digits. */
export type Cell = string | number | Uint8Array | null;

/** A statement and its parameters. */
export interface Statement {
  readonly sql: string;
  readonly cells: readonly Cell[];
}

/** SQL of a database. */
export interface Dialect {
  /** Begin of the names of all tables. */
  readonly prefix: string;
  readonly types: ColumnTypes;
  /** Text behind the columns of a table, also of one that lies in the order of its primary key. */
  tableOptions(isByKey: boolean): string;
  /** The type of a number that the database gives to each row. */
  readonly numbered: string;
  /** The moment of a parameter in milliseconds, and the milliseconds of a moment. */
  at(parameter: string): string;
  ms(moment: string): string;
  /** Day of a parameter. */
  day(parameter: string): string;
  /** Adds milliseconds to a moment. */
  later(moment: string, ms: string): string;
  /** The columns of views about money: in VND where the database has decimal numbers. */
  money(name: string): string;
  /** Whether a text has another one in it. */
  has(text: string, part: string): string;
  /** Makes a table of a parameter with a list of objects in JSON, whose members have these types. */
  given(members: Readonly<Record<string, "text" | "integer" | "float8" | "boolean">>): string;
  /** The table or view of sums by day for reports. */
  readonly daySums: string;
  /** Counts the calls of account `$1` by day, from `$2` to `$3`, and those of key `$4` and model `$5`: if `$6`, failed ones. */
  readonly selectCallsByDay: string;
  /** Reads pages of sums of the days in `days` by these conditions, up to `$5` of them. */
  selectPages(conditions: string): string;
  /** Reads the calls that fit of the ranges `$1`, a list in JSON, up to `$4` of them. */
  selectThatFit(fitting: Fitting): string;
}

/** Calls that fit. */
export interface Fitting {
  /** Expressions of the members of a call. */
  readonly selected: string;
  /** Makes a table of them of one of calls. */
  joined(calls: string): string;
  readonly conditions: readonly string[];
}

/** Columns of a shape by the members that they are of. */
const shapeMembers = {
  kind: "kind",
  model: "model",
  requestedModel: "requested_model",
  style: "style",
  route: "route",
  status: "status",
  stream: "stream",
  outcome: "outcome",
  estimated: "estimated",
  region: "region",
  catalogVersion: "catalog_version",
  endCode: "end_code",
  failed: "failed",
} as const;

/** The columns of the table of calls, as they are declared. */
export function callColumnsSql({ types }: Pick<Dialect, "types">): string {
  return callMembers.map((member) => {
    const column = callColumns[member];
    return `${column.name} ${types[column.kind]}${"nullable" in column ? "" : " not null"}`;
  }).join(", ");
}

/** The tables that both databases have, without those of calls and sums, and the views of calls and ledger lines. */
export function tablesSql(dialect: Dialect): string {
  const { prefix, types: { text, integer, amount, time, flag, day }, numbered, tableOptions } =
    dialect;
  const table = (name: string, columns: string, isByKey = false) =>
    `create table if not exists ${prefix}${name} (${columns}) ${tableOptions(isByKey)};`;
  return `
  ${table("accounts", `account ${numbered}, account_id ${text} not null unique`)}
  ${table("keys", `key ${numbered}, key_id ${text} not null unique`)}
  ${
    table(
      "shapes",
      `shape ${numbered}, text ${text} not null, kind ${text} not null, model ${text} not null,
      requested_model ${text}, style ${text} not null, route ${text}, status ${integer} not null,
      stream ${flag} not null, outcome ${text} not null, estimated ${flag} not null, region ${text},
      catalog_version ${integer}, end_code ${text}, failed ${flag} not null`,
    )
  }
  ${
    table(
      "hours",
      `started_at ${time} primary key, pages ${integer} not null, receipts ${integer} not null,
      charged_micro_vnd ${amount} not null, digest ${text} not null`,
    )
  }
  ${
    table(
      "day_sums",
      `day ${day} not null, account_id ${text} not null, key_id ${text} not null,
      model ${text} not null, calls ${amount} not null, failed_calls ${amount} not null,
      input_tokens ${amount} not null, output_tokens ${amount} not null,
      cost_micro_vnd ${amount} not null, provider_cost_micro_vnd ${amount} not null,
      primary key (day, account_id, key_id, model)`,
      true,
    )
  }
  ${
    table(
      "ledger",
      `ledger_id ${text} primary key, day ${day} not null, moved_at ${time} not null,
      account_id ${text} not null, amount_micro_vnd ${amount} not null, kind ${text} not null,
      operation_id ${text} not null, request_id ${text}`,
      true,
    )
  }`;
}

/** Table of the pages of sums, which are compressed. */
export function sumsTableSql({ prefix, types, tableOptions }: Dialect): string {
  const { text, bytes } = types;
  return `create table if not exists ${prefix}sums (
    day ${text} not null, last_account ${text} not null, first_account ${text} not null,
    data ${bytes} not null, primary key (day, last_account)
  ) ${tableOptions(false)};`;
}

/** The views of calls and ledger lines. */
export function viewsSql(dialect: Dialect, create: string): string {
  const { prefix, later, money } = dialect;
  return `
  ${create} receipts_v1 as
    select 'req_' || id as request_id, called_at, account_id, key_id, kind, model,
      requested_model, style, stream, status, outcome, failed, end_code, route, region,
      ${later("called_at", "start_offset_ms")} as started_at, first_output_ms, latency_ms,
      input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, reasoning_tokens,
      estimated, units, catalog_version, ${money("cost")}, ${money("provider_cost")}
    from ${namedCalls(prefix)};
  ${create} ledger_v1 as
    select ledger_id, moved_at, account_id, ${money("amount")}, kind, operation_id, request_id
    from ${prefix}ledger;`;
}

/** Calls with what their numbers stand for. */
export function namedCalls(prefix: string, calls = `${prefix}receipts`): string {
  return `${calls} join ${prefix}accounts using (account) join ${prefix}keys using (key)
    join ${prefix}shapes using (shape)`;
}

/** Expressions that the members of a call are read from. */
function selectedSql({ prefix, ms }: Dialect): string {
  return callMembers.map((member) => {
    const { name, kind } = callColumns[member];
    const source = {
      account: "account_id",
      key: "key_id",
      shape: `${prefix}shapes.text`,
      time: ms(name),
      integer: name,
      amount: `cast(${name} as text)`,
      flag: name,
      text: name,
    } satisfies Record<ColumnKind, string>;
    return `${source[kind]} as "${member}"`;
  }).join(", ");
}

/** Statements of a dictionary, whose parameter is a list of rows with a `text` each. */
export interface DictionarySql {
  /** Adds the texts that are not there. */
  readonly insert: string;
  readonly select: string;
}

function namesSql(dialect: Dialect, table: string, number: string, name: string): DictionarySql {
  const given = `select text from ${dialect.given({ text: "text" })}`;
  const names = `${dialect.prefix}${table}`;
  return {
    insert: `insert into ${names} (${name}) ${given} where true on conflict do nothing`,
    select: `select ${number} as number, ${name} as text from ${names} where ${name} in (${given})`,
  };
}

/** Two numbers for one text do no harm: PostgreSQL has no index that forbids them. */
function shapesSql({ prefix, given }: Dialect): DictionarySql {
  const members = given({
    text: "text",
    kind: "text",
    model: "text",
    requestedModel: "text",
    style: "text",
    route: "text",
    status: "integer",
    stream: "boolean",
    outcome: "text",
    estimated: "boolean",
    region: "text",
    catalogVersion: "integer",
    endCode: "text",
    failed: "boolean",
  });
  const shapes = `${prefix}shapes`;
  return {
    insert: `insert into ${shapes} (text, ${Object.values(shapeMembers).join(", ")})
      select text, ${Object.keys(shapeMembers).map((member) => `"${member}"`).join(", ")}
      from ${members}
      where not exists (select 1 from ${shapes} as kept where kept.text = given.text)`,
    select: `select max(shape) as number, kept.text as text from ${shapes} as kept
      join ${given({ text: "text" })} on kept.text = given.text group by kept.text`,
  };
}

/**
 * Conditions of a filter on the rows of calls, with the parameters of these conditions. Their shapes are looked up in a
 * set: a join would read all rows of a range and sort them, where the index has the latest first.
 */
function conditionsOf(
  { prefix, has }: Dialect,
  { accountId, keyId, model, onlyFailed, statusFrom, statusBefore, tag }: ColumnFilter,
  parameter: (value: string | number) => string,
): string[] {
  const conditions: string[] = [];
  const ofShapes: string[] = onlyFailed === true ? ["failed"] : [];
  if (accountId !== undefined) {
    conditions.push(
      `account = (select account from ${prefix}accounts where account_id = ${
        parameter(accountId)
      })`,
    );
  }
  if (keyId !== undefined) {
    conditions.push(`key = (select key from ${prefix}keys where key_id = ${parameter(keyId)})`);
  }
  if (tag !== undefined) conditions.push(has("rest", parameter(tag)));
  if (model !== undefined) ofShapes.push(`model = ${parameter(columnText(model))}`);
  if (statusFrom !== undefined) ofShapes.push(`status >= ${parameter(statusFrom)}`);
  if (statusBefore !== undefined) ofShapes.push(`status < ${parameter(statusBefore)}`);
  if (ofShapes.length > 0) {
    const shapes = `select shape from ${prefix}shapes where ${ofShapes.join(" and ")}`;
    conditions.push(`(shape in (${shapes})) is true`);
  }
  return conditions;
}

/** A place is an id with `~` behind it. */
const place = "'req_' || id || '~'";

/** The order of a reading, and which side of a bound it has. */
const orderOf = (reverse: boolean) => reverse ? "desc" : "asc";

/** Makes the statements of an archive. */
export class ArchiveSql {
  readonly dialect: Dialect;
  readonly accounts: DictionarySql;
  readonly keys: DictionarySql;
  readonly shapes: DictionarySql;
  readonly selectPages: string;
  readonly insertLines: string;
  readonly #selected: string;

  constructor(dialect: Dialect) {
    const { prefix, given, day, at } = dialect;
    this.dialect = dialect;
    this.accounts = namesSql(dialect, "accounts", "account", "account_id");
    this.keys = namesSql(dialect, "keys", "key", "key_id");
    this.shapes = shapesSql(dialect);
    this.selectPages = pagesSql(dialect);
    this.#selected = selectedSql(dialect);
    const lines = given({
      ledgerId: "text",
      atMs: "float8",
      accountId: "text",
      amountMicroVnd: "text",
      kind: "text",
      operationId: "text",
      requestId: "text",
    });
    this.insertLines = `insert into ${prefix}ledger
      select "ledgerId", ${day("$2")}, ${at(`"atMs"`)}, "accountId",
        cast("amountMicroVnd" as bigint), kind, "operationId", "requestId"
      from ${lines}`;
  }

  /** Calls of a range in the order of their times. */
  callsBetween({ fromMs, toMs }: TimeRange, reverse: boolean, limit: number): Statement {
    const { prefix, at } = this.dialect;
    const order = orderOf(reverse);
    const sql = `select ${this.#selected} from ${namedCalls(prefix)}
      where called_at >= ${at("$1")} and called_at < ${at("$2")}
      order by called_at ${order}, position ${order} limit $3`;
    return { sql, cells: [fromMs, toMs, limit] };
  }

  /** Calls of some ranges that fit. */
  callsThatFit(
    { filter, from, before }: Pick<FilteredReading, "filter" | "from" | "before">,
    ranges: readonly TimeRange[],
    limit: number,
  ): Statement {
    const { prefix } = this.dialect;
    const cells: Cell[] = [JSON.stringify(ranges), from, before, limit];
    const conditions = [
      `'req_' || id >= $2`,
      `'req_' || id < $3`,
      ...conditionsOf(this.dialect, filter, (value) => `$${cells.push(value)}`),
    ];
    const joined = (calls: string) => namedCalls(prefix, calls);
    const fitting = { selected: this.#selected, joined, conditions };
    return { sql: this.dialect.selectThatFit(fitting), cells };
  }

  /** Calls of an account by day. */
  callsByDay(
    accountId: string,
    filter: Pick<ColumnFilter, "keyId" | "model" | "onlyFailed">,
    { fromDay, toDay }: { readonly fromDay: string; readonly toDay: string },
  ): Statement {
    const onlyFailed = Number(filter.onlyFailed === true);
    return {
      sql: this.dialect.selectCallsByDay,
      cells: [accountId, fromDay, toDay, ...countedCells(filter), onlyFailed],
    };
  }

  /** Arrival of the call that has so many later ones in a range. */
  timeOfCall({ fromMs, toMs }: TimeRange, count: number): Statement {
    const { ms } = this.dialect;
    return {
      sql: `select ${
        ms("called_at")
      } as ms ${this.#callsWithin} order by called_at desc limit 1 offset $3`,
      cells: [fromMs, toMs, count],
    };
  }

  /** The number of calls in a range. */
  countCalls({ fromMs, toMs }: TimeRange): Statement {
    return { sql: `select count(*) as calls ${this.#callsWithin}`, cells: [fromMs, toMs] };
  }

  get #callsWithin(): string {
    const { prefix, at } = this.dialect;
    return `from ${prefix}receipts where called_at >= ${at("$1")} and called_at < ${at("$2")}`;
  }

  /** Ids of an account's calls from one place on and before another, all in one text: rows would take more time than ids. */
  idsOf(
    accountId: string,
    { fromMs, toMs, fromPlace, beforePlace }: TimeRange & {
      readonly fromPlace: string;
      readonly beforePlace: string;
    },
    { onlyFailed, reverse, limit }: {
      readonly onlyFailed: boolean;
      readonly reverse: boolean;
      readonly limit: number;
    },
  ): Statement {
    const { prefix, at } = this.dialect;
    const order = orderOf(reverse);
    const shapes = onlyFailed ? `join ${prefix}shapes using (shape)` : "";
    const sql = `select string_agg(id, ' ' order by called_at ${order}, id ${order}) as ids from (
      select called_at, id from ${prefix}receipts ${shapes}
      where account = (select account from ${prefix}accounts where account_id = $1)
        and called_at >= ${at("$2")} and called_at < ${at("$3")}
        and ${place} >= $4 and ${place} < $5 ${onlyFailed ? "and failed" : ""}
      order by called_at ${order}, id ${order} limit $6
    ) as found`;
    return { sql, cells: [accountId, fromMs, toMs, fromPlace, beforePlace, limit] };
  }

  /** Accounts from one on, or before one. */
  accountsFrom(from: string, limit: number, reverse: boolean): Statement {
    const within = reverse
      ? "account_id < $1 order by account_id desc"
      : "account_id >= $1 order by account_id";
    const sql = `select account_id from ${this.dialect.prefix}accounts where ${within} limit $2`;
    return { sql, cells: [from, limit] };
  }

  /** Accounts with calls in a day. */
  accountsOfDay(day: string, onlyFailed: boolean): Statement {
    const sql = `select distinct account_id from ${this.dialect.daySums}
      where day = ${this.dialect.day("$1")} and failed_calls >= $2 order by account_id`;
    return { sql, cells: [day, Number(onlyFailed)] };
  }

  /** Charges of some days by account. */
  chargesOf(fromDay: string, toDay: string): Statement {
    const { day, daySums } = this.dialect;
    const sql = `select account_id, cast(sum(cost_micro_vnd) as text) as charged from ${daySums}
      where day >= ${day("$1")} and day <= ${day("$2")} group by account_id`;
    return { sql, cells: [fromDay, toDay] };
  }

  /** Marks of hours. */
  hoursBetween(fromMs: number, toMs: number): Statement {
    const { prefix, at, ms } = this.dialect;
    const sql = `select ${ms("started_at")} as started, pages, receipts,
        cast(charged_micro_vnd as text) as charged, digest
      from ${prefix}hours where started_at >= ${at("$1")} and started_at < ${at("$2")}
      order by started_at`;
    return { sql, cells: [fromMs, toMs] };
  }

  get insertHour(): string {
    const { prefix, at } = this.dialect;
    return `insert into ${prefix}hours
      values (${at("$1")}, $2, $3, cast(cast($4 as text) as bigint), $5)`;
  }

  /** Deletes calls and marks of some time. */
  deleteBetween(table: "receipts" | "hours", fromMs: number, toMs: number): Statement {
    const { prefix, at } = this.dialect;
    const column = table === "receipts" ? "called_at" : "started_at";
    const sql = `delete from ${prefix}${table}
      where ${column} >= ${at("$1")} and ${column} < ${at("$2")}`;
    return { sql, cells: [fromMs, toMs] };
  }

  /** Deletes what a table has of a day. */
  deleteDay(table: "ledger" | "day_sums", day: string): Statement {
    const { prefix } = this.dialect;
    return {
      sql: `delete from ${prefix}${table} where day = ${this.dialect.day("$1")}`,
      cells: [day],
    };
  }

  /** Deletes the pages that have some accounts of a day. */
  deletePages(day: string, fromAccount: string, toAccount: string): Statement {
    const sql = `delete from ${this.dialect.prefix}sums
      where day = $1 and last_account >= $2 and first_account <= $3`;
    return { sql, cells: [day, fromAccount, toAccount] };
  }

  get insertPage(): string {
    return `insert into ${this.dialect.prefix}sums (day, last_account, first_account, data)
      values ($1, $2, $3, $4)`;
  }
}

/**
 * Reads pages of sums: parameters 1 and 2 are accounts, 3 and 4 days. Each day is found by the index, and in it the first
 * page that may have an account, wherever it lies among those of the day.
 */
function pagesSql(dialect: Dialect): string {
  const table = `${dialect.prefix}sums`;
  const conditions = `page.day = days.day and days.day <= $4
    and page.last_account >= $1 and page.first_account <= $2
    and page.last_account <= coalesce((
      select min(last.last_account) from ${table} as last
      where last.day = days.day and last.last_account >= $2
    ), '~')`;
  return `${daysSql(table, "$3", "$4")} ${dialect.selectPages(conditions)}`;
}

/** Finds the days of a table by its index, one after the other: `days (day)`. */
export function daysSql(table: string, fromDay: string, toDay: string): string {
  return `with recursive days (day) as (
    select min(day) from ${table} where day >= ${fromDay}
    union all
    select (select min(next.day) from ${table} as next where next.day > days.day)
    from days where days.day < ${toDay}
  )`;
}
