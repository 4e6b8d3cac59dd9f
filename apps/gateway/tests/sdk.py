"""The official Python SDKs against the emulator, unmodified, with their own helpers for structured output.

    polywire emulate --port 8080 &
    pip install openai anthropic google-genai
    python apps/gateway/tests/sdk.py http://127.0.0.1:8080
"""

import sys
import traceback
import warnings

import anthropic
import openai
from google import genai
from google.genai import types
from pydantic import BaseModel

warnings.simplefilter("ignore")
URL = sys.argv[1]


class Town(BaseModel):
    name: str
    size: int
    river: str | None


TOOL = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False}
SAID = [{"role": "user", "content": "A town, please."}]

chat = openai.OpenAI(base_url=f"{URL}/v1", api_key="any", max_retries=2)
claude = anthropic.Anthropic(base_url=URL, api_key="any", max_retries=2)
gemini = genai.Client(api_key="any", http_options=types.HttpOptions(base_url=URL))


def openai_chat():
    assert chat.chat.completions.create(model="gpt-4o", messages=SAID).choices[0].message.content


def openai_chat_parse():
    parsed = chat.chat.completions.parse(model="gpt-4o", messages=SAID, response_format=Town)
    assert isinstance(parsed.choices[0].message.parsed, Town)


def openai_chat_tools():
    tools = [{"type": "function", "function": {"name": "weather", "strict": True, "parameters": TOOL}}]
    answer = chat.chat.completions.create(model="gpt-4o", messages=SAID, tools=tools).choices[0]
    call = answer.message.tool_calls[0]
    result = {"role": "tool", "tool_call_id": call.id, "content": "sunny"}
    said = [*SAID, answer.message, result]
    assert chat.chat.completions.create(model="gpt-4o", messages=said, tools=tools).choices[0].message.content


def openai_chat_stream():
    with chat.chat.completions.stream(model="gpt-4o", messages=SAID, response_format=Town) as stream:
        assert isinstance(stream.get_final_completion().choices[0].message.parsed, Town)


def openai_responses_parse():
    assert isinstance(chat.responses.parse(model="gpt-5", input=SAID, text_format=Town).output_parsed, Town)


def openai_responses_stream():
    with chat.responses.stream(model="gpt-5", input=SAID, text_format=Town) as stream:
        assert isinstance(stream.get_final_response().output_parsed, Town)


def openai_refuses_open_schemas():
    open_schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    form = {"type": "json_schema", "json_schema": {"name": "n", "strict": True, "schema": open_schema}}
    try:
        chat.chat.completions.create(model="gpt-4o", messages=SAID, response_format=form)
    except openai.BadRequestError:
        return
    raise AssertionError("the schema was taken")


def openai_retries():
    trouble = {"x-polywire-emulate": "500-1"}
    assert chat.chat.completions.create(model="gpt-4o", messages=SAID, extra_headers=trouble).choices
    try:
        chat.with_options(max_retries=0).chat.completions.create(model="gpt-4o+429", messages=SAID)
    except openai.RateLimitError:
        return
    raise AssertionError("no error of too many requests")


def anthropic_messages():
    answer = claude.messages.create(model="claude-sonnet-4-5", max_tokens=99, messages=SAID)
    assert answer.content[0].text and answer.stop_reason == "end_turn"


def anthropic_tools():
    tools = [{"name": "weather", "input_schema": TOOL}]
    ask = {"model": "claude-sonnet-4-5", "max_tokens": 99, "tools": tools}
    answer = claude.messages.create(messages=SAID, **ask)
    call = answer.content[0]
    result = [{"type": "tool_result", "tool_use_id": call.id, "content": "sunny"}]
    said = [*SAID, {"role": "assistant", "content": answer.content}, {"role": "user", "content": result}]
    assert claude.messages.create(messages=said, **ask).content[0].text


def anthropic_stream():
    with claude.messages.stream(model="claude-sonnet-4-5", max_tokens=99, messages=SAID) as stream:
        assert stream.get_final_text()


def anthropic_parse():
    parse = claude.messages.parse(model="claude-sonnet-4-5", max_tokens=99, messages=SAID, output_format=Town)
    assert isinstance(parse.parsed_output, Town)


def anthropic_overloaded():
    try:
        claude.with_options(max_retries=0).messages.create(model="claude-sonnet-4-5+529", max_tokens=9, messages=SAID)
    except anthropic.APIStatusError as error:
        assert error.status_code == 529
        return
    raise AssertionError("no error")


def google_generate():
    config = types.GenerateContentConfig(response_mime_type="application/json", response_schema=Town)
    answer = gemini.models.generate_content(model="gemini-2.5-pro", contents="A town", config=config)
    assert isinstance(answer.parsed, Town), answer


def google_json_schema():
    config = types.GenerateContentConfig(response_mime_type="application/json", response_json_schema=Town.model_json_schema())
    answer = gemini.models.generate_content(model="gemini-2.5-pro", contents="A town", config=config)
    Town.model_validate_json(answer.text)


def google_stream():
    pieces = gemini.models.generate_content_stream(model="gemini-2.5-pro", contents="A town")
    assert "".join(piece.text or "" for piece in pieces)


def google_tools():
    declared = types.FunctionDeclaration(name="weather", parameters_json_schema=TOOL)
    config = types.GenerateContentConfig(tools=[types.Tool(function_declarations=[declared])])
    answer = gemini.models.generate_content(model="gemini-2.5-pro", contents="Weather?", config=config)
    assert answer.function_calls[0].name == "weather"


failed = 0
for name, case in list(globals().items()):
    if callable(case) and name.split("_")[0] in ("openai", "anthropic", "google"):
        try:
            case()
            print("ok    ", name)
        except Exception:
            failed += 1
            print("FAILED", name, traceback.format_exc(limit=-1))
sys.exit(bool(failed))
