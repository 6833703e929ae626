/** Reads posted forms. Hono caches the parsed form, so it can be read again. */
import type { Context } from "hono";
import type { DashboardEnv } from "./visitor.ts";

/** A posted form. */
export interface PostedForm {
  /** A single field, trimmed; empty if it is not there. */
  text(name: string): string;
  /** A single field exactly as typed: for passwords. */
  exact(name: string): string;
  /** A field that says "yes" or "no"; `null` for anything else, which no operation takes for an answer. */
  yesOrNo(name: string): boolean | null;
  /** All values of a field that can repeat. */
  all(name: string): string[];
  file(name: string): File | undefined;
  /** The value of `FormIdField`; `undefined` for any other text. */
  formId(): string | undefined;
}

/**
 * Parses the form of a request; `undefined` if the body is no form, malformed or incomplete.
 *
 * @throws {Error} of Hono's `bodyLimit` where the body is too large, which that middleware answers
 */
export async function parseForm<Env extends DashboardEnv>(
  c: Context<Env>,
): Promise<FormData | undefined> {
  try {
    return await c.req.formData();
  } catch (error) {
    if (error instanceof Error && error.name === "BodyLimitError") throw error;
    return undefined;
  }
}

/** Reads the form of a request; a body that is no form counts as an empty one. */
export async function readForm<Env extends DashboardEnv>(c: Context<Env>): Promise<PostedForm> {
  const form = await parseForm(c) ?? new FormData();
  const exact = (name: string): string => {
    const value = form.get(name);
    return typeof value === "string" ? value : "";
  };
  return {
    exact,
    text: (name) => exact(name).trim(),
    yesOrNo(name) {
      const answer = exact(name);
      return answer === "yes" || (answer === "no" ? false : null);
    },
    all: (name) => form.getAll(name).filter((value) => typeof value === "string"),
    file(name) {
      const value = form.get(name);
      return value instanceof File && value.size > 0 ? value : undefined;
    },
    formId() {
      const id = exact("form");
      return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id) ? id : undefined;
    },
  };
}
