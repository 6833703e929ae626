/** Where the operator's API serves each operation. The socket of `deno task admin` has the same paths. */

/** The method and path of an operation, below `/operator`. */
export interface OperationPath {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** As Hono writes it. */
  readonly path: string;
}

/** The paths of all operations. A table of its own, so that a start need not load the operations. */
export const operationPaths = {
  "routes.list": { method: "GET", path: "/routes" },
  "routes.switch": { method: "POST", path: "/routes/:id{.+}/:action{disable|enable|drain}" },
  "claims.list": { method: "GET", path: "/provider-claims" },
  "maintenance.show": { method: "GET", path: "/maintenance" },
  "maintenance.set": { method: "POST", path: "/maintenance" },
  "catalog.show": { method: "GET", path: "/catalog" },
  "catalog.preview": { method: "POST", path: "/catalog/preview" },
  "catalog.apply": { method: "PUT", path: "/catalog" },
  "catalog.rollback": { method: "POST", path: "/catalog/rollback" },
  "catalog.withdraw": { method: "DELETE", path: "/catalog/scheduled" },
  "catalog.versions": { method: "GET", path: "/catalog/versions" },
  "catalog.version": { method: "GET", path: "/catalog/versions/:version{[0-9]+}" },
} as const satisfies Readonly<Record<string, OperationPath>>;

/** The name of an operation: its subject and what is done. */
export type OperationName = keyof typeof operationPaths;

/** The names of all operations. */
export const operationNames: readonly OperationName[] = Object.keys(operationPaths).filter(
  (name): name is OperationName => name in operationPaths,
);
