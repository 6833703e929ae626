/** The support address in sentences that ask people to write to it. */
import type { Child } from "hono/jsx";
import type { Visitor } from "../page/visitor.ts";

/** A sentence that ends with the support address; nothing if the operator has configured none. */
export function AskSupport({ visitor, children }: { visitor: Visitor; children: Child }) {
  const { support } = visitor;
  if (support === undefined) return null;
  return (
    <>
      {children} <a href={support.href}>{support.text}</a>.
    </>
  );
}
