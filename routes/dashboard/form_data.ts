/** Reads posted forms. Hono keeps the parsed form, so it may be read as often as needed. */
import type { Context } from "hono";
import type { DashboardEnv } from "./visitor/visitor.ts";

export interface PostedForm {
  /** A single field, trimmed; empty if it is not there. */
  text(name: string): string;
  /** A single field just as it was typed: for passwords. */
  exact(name: string): string;
  /** Every value of a field that may repeat. */
  all(name: string): string[];
  file(name: string): File | undefined;
  /** What `FormIdField` put there; `undefined` if something else is sent in its place. */
  formId(): string | undefined;
}

/**
 * The form of a request as the browser sent it; `undefined` where the body is no form, is malformed, or was cut off.
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

/** Reads the form of a request; anything that is no form counts as an empty one. */
export async function readForm<Env extends DashboardEnv>(c: Context<Env>): Promise<PostedForm> {
  const form = await parseForm(c) ?? new FormData();
  const exact = (name: string): string => {
    const value = form.get(name);
    return typeof value === "string" ? value : "";
  };
  return {
    exact,
    text: (name) => exact(name).trim(),
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
