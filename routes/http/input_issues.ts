/** Says what a schema found wrong with an input, each member by its own path: for acts of customers and of operators. */
import type { z } from "zod";

/** A member of an input that is wrong. */
export interface InputIssue {
  /** Its path, with dots; empty for the input as a whole. */
  readonly field: string;
  readonly message: string;
}

/** What is wrong with a member that no input has. */
export const unknownMember = "is not known";

/** Lists the members that are wrong; each that is not known is one of them. */
export function inputIssues({ issues }: z.ZodError): readonly InputIssue[] {
  return issues.flatMap((issue) =>
    issue.code === "unrecognized_keys"
      ? issue.keys.map((key) => ({ field: [...issue.path, key].join("."), message: unknownMember }))
      : [{ field: issue.path.join("."), message: issue.message }]
  );
}
