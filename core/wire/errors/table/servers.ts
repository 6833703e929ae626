/** Errors of servers that an operator runs. */
import { coded, counting, plain, type VendorErrors, weak, worded } from "./row.ts";

/** vLLM. */
export const vllm: VendorErrors = {
  vendor: "vLLM",
  shape: "openai",
  source: "https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html",
  rows: [
    worded(
      "cap",
      400,
      counting(
        String
          .raw`(?:this model's )?maximum context length is {most} tokens.{0,40}?requested {cap} output tokens and your prompt contains (?:at least )?{used} input tokens`,
      ),
      "This model's maximum context length is 32768 tokens. However, you requested 32000 output tokens and your prompt contains at least 769 input tokens, for a total of at least 32769 tokens. Please reduce the length of the input prompt or the number of requested output tokens. (parameter=input_tokens, value=769)",
      {
        source: "https://github.com/earendil-works/pi/pull/5929",
      },
    ),
    worded(
      "cap",
      400,
      counting(
        String
          .raw`(?:this model's )?maximum context length is {most} tokens.{0,40}?your request has {used} input tokens plus {cap} 'max_tokens'`,
      ),
      "This model's maximum context length is 2048 tokens. However, your request has 8 input tokens plus 2045 'max_tokens'. Please reduce one or the other.",
      {
        source: "https://github.com/vllm-project/vllm/pull/33425",
      },
    ),
    worded(
      "prompt",
      400,
      counting(
        String
          .raw`(?:this model's )?maximum context length is {most} tokens.{0,40}?your request has {used} input tokens`,
      ),
      "This model's maximum context length is 2048 tokens. However, your request has 3000 input tokens. Please reduce the length of the input messages.",
      {
        source: "https://github.com/vllm-project/vllm/pull/33425",
      },
    ),
    worded(
      "cap",
      400,
      counting(
        String
          .raw`(?:['"${"`"}]?max_tokens['"${"`"}]? or )?['"${"`"}]?max_(?:completion_)?tokens['"${"`"}]? is too large: {cap}\. This model's maximum context length is {most} tokens and your request has {used} input tokens`,
      ),
      "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is 8192 tokens and your request has 100 input tokens (8192 > 8192 - 100).",
      {
        source: "https://github.com/claude-code-best/claude-code/issues/272",
      },
    ),
    worded(
      "cap",
      400,
      /^(?:['"`]?max_tokens['"`]? or )?['"`]?max_(?:completion_|output_|new_)?tokens['"`]?(?: ?[=(] ?\d{1,12}\)?)?:? (?:cannot|can't|must not|must|should|is)? ?(?:be )?(?:not )?(?:exceed|greater|larger|more than|less than|at most|smaller|too (?:large|high))/i,
      "max_tokens=131072 cannot be greater than max_model_len=32768. Please request fewer output tokens.",
    ),
    worded(
      "cap",
      400,
      counting(
        String
          .raw`You passed {used} input tokens and requested {cap} output tokens.{0,60}?context length is only {most} tokens`,
      ),
      "You passed 1000 input tokens and requested 32000 output tokens. However, the model's context length is only 32768 tokens, resulting in a maximum input length of 768 tokens.",
      {
        source: "https://github.com/anomalyco/opencode/pull/17763",
      },
    ),
    worded(
      "prompt",
      400,
      counting(
        String.raw`You passed {used} input tokens.{0,200}?maximum input length of {most} tokens`,
      ),
      "You passed 40000 input tokens and the model has a maximum input length of 32768 tokens.",
      {
        source: "https://github.com/anomalyco/opencode/pull/17763",
      },
    ),
    worded(
      "prompt",
      400,
      counting(
        String
          .raw`(?:decoder )?prompt \((?:total )?length {used}\) is (?:longer than the maximum model length of|too long to fit into the model \(context length) {most}`,
      ),
      "The decoder prompt (length 16476) is longer than the maximum model length of 16384.",
      {
        source: "https://github.com/nvidia-cosmos/cosmos-rl/issues/403",
      },
    ),
    worded(
      "ability",
      400,
      /^At most 0 (?<lacks>image|audio|video)\(s\) may be provided/i,
      "At most 0 image(s) may be provided in one prompt.",
    ),
    worded(
      "ability",
      400,
      /^"auto" tool choice requires --enable-auto-tool-choice/i,
      '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
      {
        source: "https://docs.vllm.ai/en/latest/features/tool_calling.html",
      },
    ),
    worded(
      "ability",
      400,
      /^[\w./-]{1,100} is not a multimodal model/i,
      "x/y is not a multimodal model",
    ),
    worded(
      "model",
      404,
      /^The model [`'"]?[\w./:@-]{1,150}[`'"]? does not exist/i,
      "The model `x/y` does not exist.",
    ),
  ],
};

/** SGLang. */
export const sglang: VendorErrors = {
  vendor: "SGLang",
  shape: "flat",
  source: "https://docs.sglang.ai/basic_usage/openai_api_completions.html",
  rows: [
    worded(
      "cap",
      400,
      counting(
        String
          .raw`requested token count exceeds the model's maximum context length of {most} tokens.{0,60}?{used} tokens from the input messages and {cap} tokens for the completion`,
      ),
      "Requested token count exceeds the model's maximum context length of 32768 tokens. You requested a total of 40000 tokens: 8000 tokens from the input messages and 32000 tokens for the completion.",
      {
        source:
          "https://github.com/sgl-project/sglang/blob/main/python/sglang/srt/managers/tokenizer_manager.py",
      },
    ),
    worded(
      "prompt",
      400,
      counting(
        String
          .raw`requested token count exceeds the model's maximum context length of {most} tokens\. You requested a total of {used} tokens(?!:)`,
      ),
      "Requested token count exceeds the model's maximum context length of 32768 tokens. You requested a total of 40000 tokens.",
      {
        source:
          "https://github.com/sgl-project/sglang/blob/main/python/sglang/srt/managers/tokenizer_manager.py",
      },
    ),
    worded(
      "prompt",
      400,
      counting(
        String
          .raw`input \({used} tokens\) is longer than the model's context length \({most} tokens\)`,
      ),
      "The input (40000 tokens) is longer than the model's context length (32768 tokens).",
      {
        source:
          "https://github.com/sgl-project/sglang/blob/main/python/sglang/srt/managers/tokenizer_manager.py",
      },
    ),
    worded(
      "prompt",
      400,
      counting(
        String
          .raw`input length \(?{used}(?: tokens)?\)? exceeds the maximum allowed length \(?{most}`,
      ),
      "Input length (40000 tokens) exceeds the maximum allowed length (32767 tokens). Use a shorter input or enable --allow-auto-truncate.",
      {
        source:
          "https://github.com/sgl-project/sglang/blob/main/python/sglang/srt/managers/tokenizer_manager.py",
      },
    ),
    worded("capacity", 503, /^The request queue is full/i, "The request queue is full.", {
      source:
        "https://github.com/sgl-project/sglang/blob/main/python/sglang/srt/managers/tokenizer_manager.py",
    }),
  ],
};

/** Text Generation Inference. */
export const tgi: VendorErrors = {
  vendor: "Text Generation Inference",
  shape: "text",
  source: "https://huggingface.co/docs/text-generation-inference/reference/api_reference",
  rows: [
    worded(
      "prompt",
      422,
      counting(String.raw`${"`"}inputs${"`"} must have less than {most} tokens\. Given: {used}`),
      "Input validation error: `inputs` must have less than 4096 tokens. Given: 5000",
      {
        source:
          "https://github.com/huggingface/text-generation-inference/blob/main/router/src/validation.rs",
        more: { error_type: "validation" },
      },
    ),
    coded("capacity", 429, "overloaded", "Model is overloaded", {
      more: { error_type: "overloaded" },
    }),
    worded("capacity", 429, /^Model is overloaded/i, "Model is overloaded"),
    weak(
      "request",
      422,
      "validation",
      "Input validation error: `temperature` must be strictly positive",
      {
        more: { error_type: "validation" },
      },
    ),
    coded(
      "broken",
      424,
      "generation",
      "Request failed during generation: Server error: CUDA out of memory",
      {
        more: { error_type: "generation" },
      },
    ),
    coded("broken", 500, "incomplete_generation", "Incomplete generation", {
      more: { error_type: "incomplete_generation" },
    }),
  ],
};

/** llama.cpp. */
export const llamacpp: VendorErrors = {
  vendor: "llama.cpp",
  shape: "openai",
  source: "https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md",
  rows: [
    coded(
      "prompt",
      400,
      "exceed_context_size_error",
      "the request exceeds the available context size, try increasing it",
      {
        more: { type: "exceed_context_size_error", n_prompt_tokens: 9000, n_ctx: 4096 },
        source: "https://github.com/NousResearch/hermes-agent/pull/89504",
      },
    ),
    worded(
      "prompt",
      500,
      counting(
        String.raw`request \({used} tokens\) exceeds the available context size \({most} tokens\)`,
      ),
      "request (33056 tokens) exceeds the available context size (32768 tokens), try increasing it",
      {
        source: "https://github.com/NousResearch/hermes-agent/pull/89504",
      },
    ),
    worded(
      "prompt",
      500,
      /^(?:the )?request exceeds the available context size/i,
      "the request exceeds the available context size. try increasing the context size or enable context shift",
      {
        source: "https://github.com/cline/kanban/pull/505",
      },
    ),
    worded(
      "prompt",
      500,
      counting(String.raw`requested tokens \({used}\) exceed context window of {most}`),
      "Requested tokens (2285) exceed context window of 2048",
      { source: "https://github.com/fedora-copr/logdetective-website/pull/193" },
    ),
    coded("unavailable", 503, "unavailable_error", "Loading model"),
    worded(
      "ability",
      500,
      /^(?<lacks>image|audio) input is not supported/i,
      "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj",
      {
        source: "https://github.com/ggml-org/llama.cpp/tree/master/tools/server",
      },
    ),
    worded(
      "ability",
      500,
      /^tools param requires --jinja flag/i,
      "tools param requires --jinja flag",
      {
        source: "https://github.com/ggml-org/llama.cpp/tree/master/tools/server",
      },
    ),
    worded(
      "request",
      500,
      /^(?:Failed to parse (?:grammar|messages|tools|input)|JSON schema conversion failed)/i,
      "Failed to parse grammar",
      {
        source: "https://github.com/ggml-org/llama.cpp/tree/master/tools/server",
      },
    ),
    coded(
      "access",
      501,
      "not_supported_error",
      "This server does not support embeddings. Start it with `--embeddings`",
    ),
  ],
};

/** Ollama. */
export const ollama: VendorErrors = {
  vendor: "Ollama",
  shape: "text",
  source: "https://docs.ollama.com/api/errors",
  rows: [
    worded(
      "model",
      404,
      /^model ["'`]?[\w./:-]{1,150}["'`]? not found/i,
      "model 'llama-x' not found",
    ),
    worded(
      "ability",
      400,
      /^["'`]?[\w./:-]{1,150}["'`]? does not support (?<lacks>tools|thinking|chat|generate|embeddings|insert|vision|images)/i,
      "registry.ollama.ai/library/llama-x does not support tools",
      {
        source: "https://github.com/ollama/ollama/blob/main/server/routes.go",
      },
    ),
    worded(
      "capacity",
      503,
      /^server busy, please try again/i,
      "server busy, please try again.  maximum pending requests exceeded",
      {
        source: "https://github.com/ollama/ollama/blob/main/server/sched.go",
      },
    ),
    worded(
      "broken",
      500,
      /^(?:llama runner process|model requires more system memory|unexpected server status)/i,
      "model requires more system memory (8.4 GiB) than is available (5.1 GiB)",
      {
        source: "https://github.com/ollama/ollama/blob/main/llm/server.go",
      },
    ),
    worded(
      "prompt",
      400,
      /^(?:the )?(?:input|prompt)(?: length)? (?:is )?(?:too long|exceeds (?:the )?(?:maximum )?context length)/i,
      "the input length exceeds the context length",
      {
        source: "https://github.com/earendil-works/pi/blob/main/packages/ai/src/utils/overflow.ts",
      },
    ),
    plain("rate", 429, "you've reached your hourly usage limit"),
  ],
};

/** LM Studio. */
export const lmstudio: VendorErrors = {
  vendor: "LM Studio",
  shape: "text",
  source: "https://lmstudio.ai/docs/developer/openai-compat",
  rows: [
    worded(
      "prompt",
      400,
      counting(
        String
          .raw`trying to keep the first {used} tokens when context the overflows\. However, the model is loaded with context length of only {most} tokens`,
      ),
      "Trying to keep the first 111490 tokens when context the overflows. However, the model is loaded with context length of only 32768 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input.",
      {
        source: "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/546",
      },
    ),
    worded(
      "prompt",
      400,
      counting(
        String
          .raw`number of tokens to keep from the initial prompt is greater than the context length(?:.{0,20}?n_keep: ?{used} ?>=? ?n_ctx: ?{most})?`,
      ),
      "The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 9000 >= n_ctx: 4096). Try to load the model with a larger context length.",
      {
        source: "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/237",
      },
    ),
    worded(
      "prompt",
      400,
      /^(?:The )?(?:model's )?context (?:size|length|window) (?:has been )?(?:exceeded|overflow)/i,
      "Context size has been exceeded.",
      {
        source: "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/237",
      },
    ),
    worded(
      "model",
      404,
      /^(?:Model not found|No models loaded|Invalid model identifier)/i,
      "No models loaded. Please load a model in the developer page.",
    ),
    worded(
      "unavailable",
      400,
      /^(?:Model (?:is )?unloaded|The model has crashed|Model reloaded)/i,
      "Model unloaded.",
    ),
    worded(
      "request",
      400,
      /^Error rendering prompt with jinja template/i,
      'Error rendering prompt with jinja template: "Conversation roles must alternate user/assistant".',
    ),
  ],
};
