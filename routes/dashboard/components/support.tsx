/** Whom to turn to, wherever a page tells people to. */
import type { Child } from "hono/jsx";
import type { Visitor } from "../visitor/visitor.ts";

/**
 * A sentence that ends in the address of support: nothing at all where the operator has named none, since a page must
 * not send people to nobody.
 */
export function AskSupport({ visitor, children }: { visitor: Visitor; children: Child }) {
  const { support } = visitor;
  if (support === undefined) return null;
  return (
    <>
      {children} <a href={support.href}>{support.text}</a>.
    </>
  );
}
