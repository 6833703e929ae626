/** Cells of calls as tables have them: numbers in place of what many calls share. */
import { invariant } from "../../../core/lib/base/assert.ts";
import type { ArchiveSql, Cell, DictionarySql } from "./archive_sql.ts";
import type { Row } from "./column_archive.ts";
import { type ArchivedCall, shapeColumns } from "./receipt_rows.ts";
import type { CallMember } from "./archive_tables.ts";

/** Texts of a dictionary whose numbers are kept. */
const maxNumbersKept = 50_000;

/** Runs a statement of a dictionary. */
type Query = (sql: string, cells: Cell[]) => Promise<readonly Row[]>;

/** Numbers that stand for texts. */
class Dictionary {
  readonly #numbers = new Map<string, number>();
  readonly #query: Query;
  readonly #sql: DictionarySql;
  readonly #rowOf: (text: string) => { readonly text: string };

  constructor(
    query: Query,
    sql: DictionarySql,
    rowOf: (text: string) => { readonly text: string } = (text) => ({ text }),
  ) {
    this.#query = query;
    this.#sql = sql;
    this.#rowOf = rowOf;
  }

  /** Learns the numbers of texts, before rows ask for them. */
  async learn(texts: Iterable<string>): Promise<void> {
    const wanted = [...new Set(texts)];
    if (wanted.every((text) => this.#numbers.has(text))) return;
    if (this.#numbers.size + wanted.length > maxNumbersKept) this.#numbers.clear();
    await this.#read(this.#unknown(wanted));
    const fresh = this.#unknown(wanted);
    if (fresh.length === 0) return;
    // Only those: each row of an insert takes a number, also where the text is there already.
    await this.#query(this.#sql.insert, [JSON.stringify(fresh.map(this.#rowOf))]);
    await this.#read(fresh);
  }

  #unknown(texts: readonly string[]): string[] {
    return texts.filter((text) => !this.#numbers.has(text));
  }

  async #read(texts: readonly string[]): Promise<void> {
    const rows = JSON.stringify(texts.map((text) => ({ text })));
    for (const row of await this.#query(this.#sql.select, [rows])) {
      this.#numbers.set(String(row["text"]), Number(row["number"]));
    }
  }

  numberOf(text: string): number {
    const number = this.#numbers.get(text);
    invariant(number !== undefined, "a dictionary has learned the texts of its rows");
    return number;
  }
}

/** Cells of calls, once their numbers are known. */
export class CallCells {
  readonly #accounts: Dictionary;
  readonly #keys: Dictionary;
  readonly #shapes: Dictionary;

  constructor(query: Query, { accounts, keys, shapes }: ArchiveSql) {
    this.#accounts = new Dictionary(query, accounts);
    this.#keys = new Dictionary(query, keys);
    this.#shapes = new Dictionary(query, shapes, (text) => ({ text, ...shapeColumns(text) }));
  }

  async learn(calls: readonly ArchivedCall[]): Promise<void> {
    await this.#accounts.learn(calls.map(({ accountId }) => accountId));
    await this.#keys.learn(calls.map(({ keyId }) => keyId));
    await this.#shapes.learn(calls.map(({ shape }) => shape));
  }

  /** Returns the cell of a member. Amounts are texts. */
  cellOf(member: CallMember, call: ArchivedCall): ArchivedCall[CallMember] {
    switch (member) {
      case "accountId":
        return this.#accounts.numberOf(call.accountId);
      case "keyId":
        return this.#keys.numberOf(call.keyId);
      case "shape":
        return this.#shapes.numberOf(call.shape);
      default:
        return call[member];
    }
  }
}
