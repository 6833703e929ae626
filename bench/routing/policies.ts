/** Policies that pick a route: the gateway's, and two simple ones for comparison. */
import { Deadlines } from "../../core/lib/time/deadlines.ts";
import type { Hedge } from "../../core/calls/attempts/attempt_loop.ts";
import type { Model, Route } from "../../core/catalog/catalog.ts";
import { gatewayFileSchema } from "../../core/catalog/schema.ts";
import { GatewayError } from "../../core/lib/errors/errors.ts";
import { LiveRouter } from "../../core/routing/live_router.ts";
import { type Scenario, second } from "./scenarios.ts";

/** A policy: how it picks a route and learns from outcomes. */
export interface Policy {
  candidates(): readonly Route[];
  /** Start of a second route beside the first. */
  hedge(first: Route | undefined): Hedge | undefined;
  begin(route: Route): void;
  end(route: Route, result: "ok" | "failed" | "beaten", ms: number): void;
}

/** The routes of a scenario as in a catalogue. */
export function modelOf(scenario: Scenario): Model {
  const routes = Object.keys(scenario.routes).map((id, i): Route => ({
    id,
    provider: "simulated",
    upstreamModel: "m",
    style: "chat",
    region: undefined,
    priority: scenario.preferFirst && i > 0 ? 1 : 0,
    weight: 1,
    countTokens: false,
    allow: new Set(),
    capabilities: {},
  }));
  return {
    id: "m",
    kind: "chat",
    family: "f",
    displayName: "m",
    contextWindow: 1,
    maxOutputTokens: 1,
    vision: false,
    aliases: [],
    price: { unit: "request", vnd: 0 },
    routes,
    hedge: false,
    slowAfterMs: 30 * second,
    videoRules: undefined,
  };
}

/** The policy of the gateway. */
function healthPolicy(model: Model, now: () => number, random: () => number): Policy {
  const router = new LiveRouter({
    catalog: {
      version: undefined,
      wallet: gatewayFileSchema.shape.wallet.parse({}),
      models: [model],
      providers: { simulated: { kind: "sandbox", strict: false } },
      hasCosts: false,
      listRate: 1,
      defaultModel: model,
      find: () => model,
      resolve: () => ({ found: true, model, mappedFrom: undefined }),
    },
    providerKeys: {},
    transportOf: () => ({
      open: () => ({ response: Promise.withResolvers<never>().promise, cancel: () => {} }),
    }),
    clock: { nowMs: now, monotonicMs: now },
    deadlines: new Deadlines({ clock: { nowMs: now, monotonicMs: now } }),
    random,
    region: undefined,
    switchOf: () => undefined,
    onEvent: () => {},
  });
  const operation = "chat_stream";
  return {
    candidates: () => router.candidates(model, { style: "chat", operation }),
    begin: (route) => void router.begin(route, operation),
    hedge: (first) => router.hedge(model, operation, first),
    end: (route, kind, ms) =>
      router.report(
        model,
        route,
        operation,
        kind === "failed"
          ? { kind, ms, error: new GatewayError("upstream_unreachable", "simulated") }
          : { kind, ms },
      ),
  };
}

function roundRobin(model: Model): Policy {
  let next = 0;
  return {
    candidates() {
      const start = next++ % model.routes.length;
      return [...model.routes.slice(start), ...model.routes.slice(0, start)];
    },
    hedge: () => undefined,
    begin() {},
    end() {},
  };
}

function priorityOnly(model: Model): Policy {
  return { candidates: () => model.routes, hedge: () => undefined, begin() {}, end() {} };
}

export const policyNames = ["by health", "round-robin", "priority only"] as const;
export type PolicyName = typeof policyNames[number];

export function createPolicy(
  name: PolicyName,
  model: Model,
  now: () => number,
  random: () => number,
): Policy {
  switch (name) {
    case "by health":
      return healthPolicy(model, now, random);
    case "round-robin":
      return roundRobin(model);
    case "priority only":
      return priorityOnly(model);
  }
}
