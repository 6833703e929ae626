/**
 * MCP servers of a request whose model has no provider with a connector: the gateway lists their tools and makes the calls,
 * as long as operator and organisation allow it.
 */
import { readAskedMcp } from "../../../core/calls/rounds/mcp_request.ts";
import { McpTools } from "../../../core/calls/rounds/mcp_tools.ts";
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import type { RunningCall } from "../gateway/access_watch.ts";
import type { AdmittedChat, ArrivedChat } from "./chat_stages.ts";
import type { PaidRounds } from "./chat_settlement.ts";

/** Whether a model leaves the servers of a request to the gateway: none of its routes may connect to them. */
function leavesMcp({ call: { model }, terms: { catalog } }: AdmittedChat): boolean {
  return catalog.mcpTools !== "off" && !model.routes.some(({ allow }) => allow.has("mcp"));
}

/**
 * Has the gateway run the MCP servers of a request, for those of its models that leave them to it.
 *
 * @throws {GatewayError} `invalid_request` naming the field, `permission_denied` for a server that the settings of the
 * caller do not allow
 */
export function withMcp(arrived: ArrivedChat, admitted: AdmittedChat): AdmittedChat {
  const { gateway, principal } = arrived;
  const { call: { request: { style, choices }, body } } = admitted;
  const models = [admitted, ...admitted.fallbacks ?? []];
  if ((style !== "messages" && style !== "responses") || choices > 1) return admitted;
  // Who compacts a conversation calls nothing, whatever tools it names.
  if (arrived.compacts === true || !models.some(leavesMcp)) return admitted;
  const asked = readAskedMcp(style, body.value);
  if (asked.servers.length === 0) return admitted;
  const allowed = principal.callRules?.mcpServers;
  const refused = allowed && asked.servers.find(({ host }) => !allowed.includes(host));
  if (refused !== undefined) {
    throw new GatewayError(
      "permission_denied",
      `${refused.urlPath}: the settings of this key's calls do not allow the MCP server ${refused.host}`,
      { param: refused.urlPath },
    );
  }
  const { clock, deadlines, media: { remote } } = gateway;
  const allowsImages = principal.callRules?.parts?.noImages !== true;
  const mcp = new McpTools({ clock, deadlines, remote, allowsImages }, asked);
  const added = (one: AdmittedChat): AdmittedChat =>
    leavesMcp(one) ? { ...one, call: { ...one.call, mcp } } : one;
  const { fallbacks } = admitted;
  return {
    ...added(admitted),
    ...(fallbacks !== undefined && { fallbacks: fallbacks.map(added) }),
  };
}

/**
 * Lists the tools of a call before its first attempt, and makes the calls to which its client has agreed.
 *
 * @throws {GatewayError} `mcp_server_failed` if a server gives no list, `insufficient_balance` if the wallet cannot pay for
 * reading the results
 */
export async function prepareMcp(
  mcp: McpTools,
  control: RunningCall,
  rounds: PaidRounds | undefined,
): Promise<void> {
  const end = () => mcp.end();
  control.attach(end);
  try {
    await mcp.prepare(() => control.stopped !== undefined);
  } finally {
    control.detach(end);
  }
  const { tokens, hasImages } = mcp.approvedTokens;
  if (rounds === undefined || await rounds.payBeyond(tokens, hasImages)) return;
  throw new GatewayError(
    "insufficient_balance",
    "The balance does not cover the prompt with the results of the calls that were agreed to",
  );
}
