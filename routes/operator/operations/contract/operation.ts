/**
 * What an operation of operators is: one input, one body and one set of errors, whichever surface calls it.
 *
 * - Folder `routes/operator/operations/contract/`: how operations are declared, their names and paths, and how the
 *   catalogue is changed.
 * - In: input as a program or a person wrote it, and who acts.
 * - Out: bodies of answers, and refusals.
 * - Never: knows a single operation, or reads an HTTP request.
 */
import { z } from "zod";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import type { Clock } from "../../../../core/lib/time/clock.ts";
import type { RouteReport } from "../../../../core/routing/contract/router.ts";
import type { Control } from "../../../../kv/engine/control/control.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import type { WalletEngine } from "../../../../kv/money/wallet/mod.ts";
import type { Actor } from "../../../../kv/people/audit/operator_audit.ts";
import type { LiveCatalog } from "../../../../kv/services/catalog/live_catalog.ts";
import type { Gateway } from "../../../api/gateway/gateway.ts";
import type { CallLog } from "../../../telemetry/call_log.ts";
import { type CatalogEditing, editingOf } from "./editing.ts";
import type { OperationName } from "./paths.ts";

/** What operations need of the gateway. Commands also run without one, on the store alone. */
export interface OperationDeps {
  readonly kv: KeyValueStore;
  readonly clock: Pick<Clock, "nowMs">;
  readonly control: Pick<Control, "switches" | "update">;
  readonly wallet: Pick<WalletEngine, "balance">;
  readonly editing: CatalogEditing;
  /** The routes that this process serves; absent where it serves none. */
  readonly routes?: () => readonly RouteReport[];
  /** The catalogue that this process serves; absent where it serves none. */
  readonly catalog?: Pick<LiveCatalog, "current" | "refused">;
  readonly log?: Pick<CallLog, "event">;
}

/** Returns what operations need of a running gateway. */
export function operationDepsOf(gateway: Gateway): OperationDeps {
  const { kv, clock, control, wallet, catalog, log, router } = gateway;
  const editing = editingOf(gateway);
  return { kv, clock, control, wallet, catalog, log, editing, routes: () => router.reports() };
}

/** Who acts, when, and on what state. */
export interface OperationAct {
  readonly operator: Actor;
  readonly nowMs: number;
  /**
   * Returns the version of the catalogue that the author has seen; absent: whoever acts takes the newest as seen.
   *
   * @throws {GatewayError} if a program named none
   */
  readonly base?: () => number;
}

/** The body of an answer, or a refusal that has a body of its own. All other refusals are thrown as `GatewayError`. */
export type OperationAnswer<Out> =
  | {
    readonly ok: true;
    readonly body: Out;
    /** The version of the catalogue that the body belongs to. */
    readonly version?: number;
  }
  | {
    readonly ok: false;
    readonly status: 409 | 412 | 422;
    readonly body: Readonly<Record<string, unknown>>;
  };

/** How an operation is declared. */
export interface OperationForm<In, Out> {
  readonly name: OperationName;
  /** One line for lists and for the OpenAPI document. */
  readonly summary: string;
  /** `acts`: it changes something, and writes an audit line in the same commit. */
  readonly effect: "reads" | "acts";
  /** Query, path parameters and body in one. */
  readonly input: z.ZodType<In>;
  readonly output: z.ZodType<Out>;
  /** It replaces a version of the catalogue: a program names in `if-match` the one that it has seen. */
  readonly replacesVersion?: true;
  /** Bytes of a body; absent: those of a reason and a message. */
  readonly maxBodyBytes?: number;
  run(deps: OperationDeps, input: In, act: OperationAct): Promise<OperationAnswer<Out>>;
}

/** An operation as every surface calls it, whatever its types. */
export interface Operation extends
  Pick<
    OperationForm<unknown, unknown>,
    "name" | "summary" | "effect" | "maxBodyBytes" | "replacesVersion"
  > {
  /** The schemas of input and body. */
  readonly schemas: { readonly input: z.ZodType; readonly output: z.ZodType };
  /**
   * Checks the input and runs the operation.
   *
   * @throws {z.ZodError} for a wrong input, which {@linkcode operationError} turns into an error for clients
   */
  call(deps: OperationDeps, input: unknown, act: OperationAct): Promise<OperationAnswer<unknown>>;
}

/** Declares an operation. `run` is for callers that have checked the input, such as pages. */
export function operation<In, Out>(
  form: OperationForm<In, Out>,
): Operation & Pick<OperationForm<In, Out>, "run"> {
  const { input, output, ...rest } = form;
  return {
    ...rest,
    schemas: { input, output },
    call: (deps, raw, act) => form.run(deps, input.parse(raw), act),
    run: (deps, checked, act) => form.run(deps, checked, act),
  };
}

/** Turns what an operation threw into the error that every surface shows. */
export function operationError(error: unknown): unknown {
  if (!(error instanceof z.ZodError)) return error;
  const text = error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`).join("; ");
  return new GatewayError("invalid_request", text);
}
