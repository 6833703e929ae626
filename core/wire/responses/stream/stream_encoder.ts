/**
 * Writes a stream for a Responses client.
 *
 * See docs/internals/WIRE_FORMATS.md#responses-stream.
 */
import { pictureNote } from "../../fields/pictures.ts";
import { errorBody, GatewayError } from "../../../lib/errors/errors.ts";
import type { JsonObject } from "../../../lib/json/json.ts";
import { maxAnswerBytes } from "../../contract/limits.ts";
import type { TokenUsage } from "../../../billing/tokens/token_bounds.ts";
import { sseEventText } from "../../../lib/sse/writer.ts";
import { stringifyExactly } from "../../../lib/runtime/built_ins.ts";
import { CallIds } from "../../fields/answer_ids.ts";
import type { ConversionMemory, PipeContext } from "../../contract/contract.ts";
import type {
  Citation,
  HostedCall,
  Moderation,
  Stop,
  StreamEvent,
} from "../../conversation/mod.ts";
import type { StreamEncoder } from "../../stream/dialect.ts";
import { type BlockEvent, BlockSequencer } from "../../stream/choices.ts";
import { begunItem, hostedEvents, hostedItem, hostedItemKind } from "../items/hosted_items.ts";
import { OpenCall, type OpenItem, OpenMessage, OpenReasoning } from "./open_item.ts";
import { callKind, itemId, pictureItem } from "../items/output_items.ts";
import { failureOf, responseObject, writeResponsesStop } from "../answer/response_object.ts";
import { nameMembers } from "../items/tool_groups.ts";

/**
 * Writes one stream of events. The style repeats the whole output in its last event, so the output is kept until then,
 * bounded by {@linkcode maxAnswerBytes}.
 *
 * An item stays open until the next one begins or the answer ends: neighbouring texts become one part of one message,
 * and the last item may turn out to be cut by the cap on tokens.
 */
export class ResponsesStreamEncoder implements StreamEncoder {
  readonly #context: PipeContext;
  readonly #memory: ConversionMemory;
  readonly #callIds: CallIds;
  readonly #sequencer = new BlockSequencer((event) => this.#block(event));
  readonly #output: JsonObject[] = [];
  readonly #write = (type: string, members: string): void => this.#event(type, members);
  #open: OpenItem | undefined;
  /** Sources that came before the text of their block, while no message was open. */
  #early: Citation[] = [];
  #text = "";
  #sequence = 0;
  #keptBytes = 0;
  #stop: Stop = { reason: "end" };
  #usage: TokenUsage | undefined;
  #serviceTier: string | undefined;
  #moderation: Moderation | undefined;
  #wroteRefusal = false;
  #started = false;

  constructor(context: PipeContext, memory: ConversionMemory) {
    this.#context = context;
    this.#memory = memory;
    this.#callIds = new CallIds(context.requestId, "call_", (id) => id);
  }

  encode(event: StreamEvent): string {
    this.#text = "";
    switch (event.type) {
      case "start":
        this.#start();
        break;
      case "usage":
        this.#usage = event.usage;
        break;
      // The style has one choice, and its clients cannot ask for several.
      case "choice":
      case "usage_rejected":
        break;
      case "stop":
        this.#stop = event.stop;
        this.#serviceTier = event.serviceTier ?? this.#serviceTier;
        this.#moderation = event.moderation ?? this.#moderation;
        break;
      case "ping":
        // A comment: the style has no such event, and each event takes a sequence number.
        return ": ping\n\n";
      case "end":
        this.#end();
        break;
      case "error":
        this.#fail(event.error);
        break;
      default:
        this.#start();
        this.#sequencer.take(event);
    }
    return this.#text;
  }

  #start(): void {
    if (this.#started) return;
    this.#started = true;
    const begun = stringifyExactly(
      responseObject(this.#context, {
        status: "in_progress",
        output: [],
        echo: this.#memory.echo,
      }),
    );
    this.#event("response.created", `"response":${begun}`);
    this.#event("response.in_progress", `"response":${begun}`);
  }

  #event(type: string, members: string): void {
    const head = `"type":"${type}","sequence_number":${this.#sequence++}`;
    this.#text += sseEventText(`{${head},${members}}`, type);
  }

  #block(event: BlockEvent): void {
    switch (event.type) {
      case "text":
      case "refusal":
        if (event.json === '""') return;
        this.#keep(event.json.length);
        if (event.type === "refusal") {
          this.#wroteRefusal = true;
          return this.#message().add(event.json, true);
        }
        this.#keep(event.logprobs?.length ?? 0);
        return this.#message().add(event.json, false, event.logprobs);
      case "citation":
        this.#keep(event.citation.url.length + event.citation.title.length);
        if (this.#open instanceof OpenMessage) this.#open.cite(event.citation);
        else this.#early.push(event.citation);
        return;
      case "reasoning":
        if (event.json === '""') return;
        this.#keep(event.json.length);
        return this.#reasoning().add(event.json);
      case "reasoning_proof":
        return this.#reasoning().prove(event.proof);
      case "call":
        return this.#call(event);
      case "arguments":
        this.#keep(event.json.length);
        if (this.#open instanceof OpenCall) this.#open.add(event.json);
        return;
      case "hosted_call":
        return this.#hostedCall(event.call);
      case "picture":
        return this.#picture(event.url);
      case "block_end":
        this.#early = [];
        if (this.#open instanceof OpenMessage) this.#open.endBlock();
        // Each block of reasoning has its own proof, so it is an item of its own.
        else if (this.#open instanceof OpenReasoning) this.#close("completed");
        return;
      // Named before, or it ran inside the provider's call and its result is in the text.
      case "sound":
      case "foreign":
        return;
      default:
        return event satisfies never;
    }
  }

  #keep(bytes: number): void {
    this.#keptBytes += bytes;
    if (this.#keptBytes > maxAnswerBytes) {
      throw new GatewayError("upstream_unreachable", "The provider's answer is too long");
    }
  }

  #message(): OpenMessage {
    if (this.#open instanceof OpenMessage) return this.#open;
    this.#close("completed");
    const id = itemId("message", this.#context, this.#output.length);
    const opened = new OpenMessage(id, this.#output.length, this.#write);
    for (const citation of this.#early) opened.cite(citation);
    this.#early = [];
    this.#open = opened;
    return opened;
  }

  #reasoning(): OpenReasoning {
    if (this.#open instanceof OpenReasoning) return this.#open;
    this.#close("completed");
    const id = itemId("reasoning", this.#context, this.#output.length);
    const opened = new OpenReasoning(id, this.#output.length, this.#write);
    this.#open = opened;
    return opened;
  }

  #call(event: BlockEvent & { readonly type: "call" }): void {
    this.#close("completed");
    const kind = callKind(event.name, event.custom === true, this.#memory.searchTool);
    const head = {
      kind,
      id: itemId(kind, this.#context, this.#output.length),
      callId: this.#callIds.next(event.id),
      ...nameMembers(event.name, this.#memory.groupedTools),
    };
    this.#open = new OpenCall(head, this.#output.length, this.#write);
  }

  /** Writes all events of a hosted call at once: it is complete when it comes. */
  #hostedCall(call: HostedCall): void {
    this.#close("completed");
    const index = this.#output.length;
    const id = itemId(hostedItemKind(call), this.#context, index);
    const item = hostedItem(id, call);
    const done = `"output_index":${index},"item":${stringifyExactly(item)}`;
    this.#keep(done.length);
    const begun = stringifyExactly(begunItem(item));
    this.#event("response.output_item.added", `"output_index":${index},"item":${begun}`);
    const place = `"item_id":${stringifyExactly(id)},"output_index":${index}`;
    for (const { type, members } of hostedEvents(call)) {
      const more = members === undefined ? "" : `,${stringifyExactly(members).slice(1, -1)}`;
      this.#event(type, place + more);
    }
    this.#event("response.output_item.done", done);
    this.#output.push(item);
  }

  /** Writes a picture as a whole item; the address of one as text. */
  #picture(url: string): void {
    const index = this.#output.length + (this.#open === undefined ? 0 : 1);
    const id = itemId("image_generation_call", this.#context, index);
    const item = pictureItem(id, url);
    if (item === undefined) return this.#message().add(stringifyExactly(pictureNote(url)), false);
    this.#close("completed");
    const done = `"output_index":${index},"item":${stringifyExactly(item)}`;
    this.#keep(done.length);
    const begun = stringifyExactly({ ...item, status: "in_progress", result: null });
    this.#event("response.output_item.added", `"output_index":${index},"item":${begun}`);
    for (const step of ["in_progress", "generating", "completed"]) {
      const place = `"item_id":${stringifyExactly(id)},"output_index":${index}`;
      this.#event(`response.image_generation_call.${step}`, place);
    }
    this.#event("response.output_item.done", done);
    this.#output.push(item);
  }

  #close(status: "completed" | "incomplete"): void {
    if (this.#open === undefined) return;
    this.#output.push(this.#open.close(status));
    this.#open = undefined;
  }

  #end(): void {
    this.#start();
    this.#sequencer.finish();
    const { reason, explanation } = this.#stop;
    const unsaid = reason === "refusal" && !this.#wroteRefusal ? explanation : undefined;
    if (unsaid) this.#message().add(stringifyExactly(unsaid), true);
    const isCut = reason === "length" || reason === "unknown";
    this.#close(isCut ? "incomplete" : "completed");
    const stop = writeResponsesStop(this.#stop, this.#wroteRefusal);
    const response = responseObject(this.#context, {
      ...stop,
      output: this.#output,
      usage: this.#usage,
      serviceTier: this.#serviceTier,
      moderation: this.#moderation,
      echo: this.#memory.echo,
    });
    this.#event(`response.${stop.status}`, `"response":${stringifyExactly(response)}`);
  }

  /**
   * Writes both error events of the vendor: SDKs stop at one, agents read the reason from the other. An answer that has
   * not begun gets `response.created` first, since strict clients accept nothing before it.
   */
  #fail(error: GatewayError): void {
    this.#start();
    const body = errorBody(error, "chat", this.#context.requestId)["error"];
    this.#event("error", `"error":${stringifyExactly(body)}`);
    const response = responseObject(this.#context, {
      status: "failed",
      output: this.#output,
      error: failureOf(error),
      usage: this.#usage,
      echo: this.#memory.echo,
    });
    this.#event("response.failed", `"response":${stringifyExactly(response)}`);
  }
}
