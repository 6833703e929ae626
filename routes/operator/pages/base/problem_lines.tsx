/** Lists what a verification found. Its sentences are English, as in the log; amounts have the form of the page. */
import { parseVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { formatMoney } from "../../../dashboard/text/format.ts";
import type { Locale } from "../../../dashboard/text/i18n.ts";

/** Lines of one list. */
const maxLines = 50;

/** An amount as verifications write it. */
const writtenAmount = /(?<![\w.])(-?\d+(?:\.\d+)?) (µ?)VND\b/g;

/** Writes the amounts of a line as the language does, exactly. */
export function withAmounts(line: string, locale: Locale): string {
  return line.replace(writtenAmount, (written, number: string, micro: string) => {
    const isMicro = micro !== "" && /^-?\d+$/.test(number);
    const microVnd = isMicro ? BigInt(number) : micro === "" ? parseVnd(number) : undefined;
    return microVnd === undefined ? written : formatMoney(microVnd, locale);
  });
}

/** The first problems, one to a line. */
export function ProblemLines({ problems, locale }: {
  problems: readonly string[];
  locale: Locale;
}) {
  return (
    <>
      {problems.slice(0, maxLines).map((problem) => (
        <p key={problem} lang="en">{withAmounts(problem, locale)}</p>
      ))}
    </>
  );
}
