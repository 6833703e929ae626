/** Problems that verification finds: each once, and of very many the first. */
import type { AccountId } from "../../../../core/lib/ids/ids.ts";

/** A violated invariant. */
export interface Problem {
  readonly accountId?: AccountId;
  readonly kind:
    | "balance"
    | "catalog"
    | "claim"
    | "credit"
    | "index"
    | "ledger"
    | "organisation"
    | "proof"
    | "refund"
    | "rollup"
    | "row"
    | "seal"
    | "twice"
    | "video";
  readonly detail: string;
}

/** Most problems that are kept; beyond it only their number. */
export const maxProblemsListed = 1_000;

/** Problems as they are found. One that two checks find alike counts once, as long as it is listed. */
export class ProblemList {
  readonly #listed = new Map<string, Problem>();
  #unlisted = 0;

  /** The first problems, at most `maxProblemsListed`. */
  get listed(): readonly Problem[] {
    return [...this.#listed.values()];
  }

  get count(): number {
    return this.#listed.size + this.#unlisted;
  }

  add(problem: Problem): void {
    const { accountId, kind, detail } = problem;
    const text = [accountId, kind, detail].join(" ");
    if (this.#listed.has(text)) return;
    if (this.#listed.size < maxProblemsListed) this.#listed.set(text, problem);
    else this.#unlisted++;
  }

  addAll(problems: Iterable<Problem> | ProblemList): void {
    if (problems instanceof ProblemList) this.#unlisted += problems.#unlisted;
    const all = problems instanceof ProblemList ? problems.listed : problems;
    for (const problem of all) this.add(problem);
  }
}
