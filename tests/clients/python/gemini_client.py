"""The vendor's library for Python against the gateway, as its documentation uses it.

Prints `ok STEP` for each step that passed; ends with a traceback at the first that did not.
GOOGLE_GEMINI_BASE_URL and GEMINI_API_KEY name the gateway, ADDRESS repeats its address.
"""

import asyncio
import base64
import os
import sys

from google import genai
from google.genai import errors, types
from pydantic import BaseModel

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)
PDF = b"%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"


class City(BaseModel):
    city: str
    population: int


asked: list[str] = []


def get_weather(city: str) -> dict[str, str]:
    """Returns the weather of a city.

    Args:
        city: The name of the city.
    """
    asked.append(city)
    return {"weather": "27 degrees and dry"}


def config(**more) -> types.GenerateContentConfig:
    return types.GenerateContentConfig(max_output_tokens=2_000, **more)


def text(client: genai.Client, model: str) -> None:
    prompt = "Tell me of rivers"
    whole = client.models.generate_content(
        model=model, contents=prompt, config=config(system_instruction="Be short.", temperature=0.5)
    )
    assert "rivers" in whole.text, whole
    assert whole.candidates[0].finish_reason == types.FinishReason.STOP
    assert whole.model_version == model
    chunks = list(
        client.models.generate_content_stream(
            model=model,
            contents=prompt,
            config=config(system_instruction="Be short.", temperature=0.5),
        )
    )
    assert len(chunks) > 2
    assert "".join(chunk.text or "" for chunk in chunks) == whole.text
    assert chunks[-1].candidates[0].finish_reason == types.FinishReason.STOP
    used = whole.usage_metadata
    assert used.prompt_token_count > 0 and used.candidates_token_count > 0
    assert chunks[-1].usage_metadata.total_token_count == used.total_token_count


def automatic_functions(client: genai.Client, model: str) -> None:
    for answer in (
        client.models.generate_content(
            model=model, contents="call get_weather", config=config(tools=[get_weather])
        ).text,
        "".join(
            chunk.text or ""
            for chunk in client.models.generate_content_stream(
                model=model, contents="call get_weather", config=config(tools=[get_weather])
            )
        ),
    ):
        assert "27 degrees" in answer, answer
    assert len(asked) == 2, asked
    asked.clear()


def declared_functions(client: genai.Client, model: str) -> None:
    names = ["get_weather", "get_time", "get_news"]
    tools = [
        types.Tool(
            function_declarations=[
                types.FunctionDeclaration(
                    name=name,
                    description=f"The tool {name}",
                    parameters=types.Schema(
                        type=types.Type.OBJECT,
                        properties={"city": types.Schema(type=types.Type.STRING)},
                        required=["city"],
                    ),
                )
                for name in names
            ]
        )
    ]
    history = [types.Content(role="user", parts=[types.Part(text="call all tools")])]
    first = client.models.generate_content(
        model=model, contents=history, config=config(tools=tools)
    )
    assert [call.name for call in first.function_calls] == names, first
    history.append(first.candidates[0].content)
    history.append(
        types.Content(
            role="user",
            parts=[
                types.Part(
                    function_response=types.FunctionResponse(
                        id=call.id, name=call.name, response={"output": f"result of {call.name}"}
                    )
                )
                for call in first.function_calls
            ],
        )
    )
    second = client.models.generate_content(
        model=model, contents=history, config=config(tools=tools)
    )
    assert "result of get_news" in second.text, second
    forced = client.models.generate_content(
        model=model,
        contents="Hello",
        config=config(
            tools=tools,
            tool_config=types.ToolConfig(
                function_calling_config=types.FunctionCallingConfig(
                    mode=types.FunctionCallingConfigMode.ANY, allowed_function_names=["get_news"]
                )
            ),
        ),
    )
    assert [call.name for call in forced.function_calls] == ["get_news"], forced


def media(client: genai.Client, model: str) -> None:
    parts = [
        types.Part.from_bytes(data=PNG, mime_type="image/png"),
        types.Part.from_bytes(data=PDF, mime_type="application/pdf"),
        types.Part.from_text(text="What are these?"),
    ]
    answer = client.models.generate_content(model=model, contents=parts, config=config())
    assert "What are these?" in answer.text, answer


def schema(client: genai.Client, model: str) -> None:
    by_class = client.models.generate_content(
        model=model,
        contents="Name a city",
        config=config(response_mime_type="application/json", response_schema=City),
    )
    assert isinstance(by_class.parsed, City), by_class
    by_json = client.models.generate_content(
        model=model,
        contents="Name a city",
        config=config(
            response_mime_type="application/json", response_json_schema=City.model_json_schema()
        ),
    )
    assert isinstance(City.model_validate_json(by_json.text).population, int)


def thoughts(client: genai.Client, model: str) -> None:
    chat = client.chats.create(
        model=model,
        config=config(
            thinking_config=types.ThinkingConfig(include_thoughts=True, thinking_budget=1_024)
        ),
    )
    for word in ("One", "Why?"):
        answer = chat.send_message(word)
        assert word in answer.text, answer
    turns = chat.get_history()
    assert len(turns) == 4
    shown = [part for turn in turns for part in turn.parts if part.thought]
    assert shown, turns


def stops(client: genai.Client, model: str) -> None:
    cut = client.models.generate_content(
        model=model,
        contents="Tell me [[sandbox:length 500]]",
        config=types.GenerateContentConfig(max_output_tokens=20),
    )
    assert cut.candidates[0].finish_reason == types.FinishReason.MAX_TOKENS
    try:
        client.models.generate_content(
            model=model, contents="[[sandbox:error-400]]", config=config()
        )
    except errors.ClientError as error:
        assert error.code == 400 and error.status == "INVALID_ARGUMENT", error
    else:
        raise AssertionError("a refusal must be an error")
    try:
        for _ in client.models.generate_content_stream(
            model=model,
            contents="Tell me of rivers [[sandbox:error-after 2]] [[sandbox:pace 20]]",
            config=config(),
        ):
            pass
    except (errors.APIError, ValueError):
        return
    raise AssertionError("a stream that breaks must be an error")


def counts(client: genai.Client, model: str) -> None:
    short = client.models.count_tokens(model=model, contents="Tell me of rivers")
    long = client.models.count_tokens(model=model, contents="Tell me of rivers" * 20)
    assert 2 < short.total_tokens < 30 < long.total_tokens


def asynchronous(client: genai.Client, model: str) -> None:
    async def run() -> str:
        stream = await client.aio.models.generate_content_stream(
            model=model, contents="Tell me of rivers", config=config()
        )
        said = [chunk.text or "" async for chunk in stream]
        return "".join(said)

    assert "rivers" in asyncio.run(run())


STEPS = [
    text,
    automatic_functions,
    declared_functions,
    media,
    schema,
    thoughts,
    stops,
    counts,
    asynchronous,
]


def main(models: list[str]) -> None:
    by_options = genai.Client(
        api_key=os.environ["GEMINI_API_KEY"],
        http_options=types.HttpOptions(base_url=os.environ["ADDRESS"]),
    )
    by_environment = genai.Client()
    for model in models:
        for step in STEPS:
            step(by_options, model)
            print(f"ok {model} {step.__name__}", flush=True)
    listed = [model.name for model in by_environment.models.list(config={"page_size": 2})]
    assert sorted(listed) == sorted(f"models/{model}" for model in models), listed
    shown = by_environment.models.get(model=models[0])
    assert shown.input_token_limit == 200_000, shown
    print("ok models", flush=True)
    try:
        by_environment.models.generate_content(model=models[0], contents="[[sandbox:error-429]]")
    except errors.ClientError as error:
        assert error.code == 429 and error.status == "RESOURCE_EXHAUSTED", error
    else:
        raise AssertionError("a limit must be an error")
    print("ok rate", flush=True)


main(sys.argv[1:])
