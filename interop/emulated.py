"""The official Python SDKs talk to the emulator, unmodified, with their own helpers for structured output.

Usage: emulated.py URL, of a running `polywire emulate`.
"""

import enum
import json
import logging
import sys
import time
import traceback
import warnings

import anthropic
import botocore.config
import botocore.exceptions
import botocore.session
import google.auth.credentials
import httpx2
import openai
from google import genai
from google.genai import types
from pydantic import BaseModel

warnings.simplefilter("ignore")
logging.disable()
URL = sys.argv[1]
SAID = [{"role": "user", "content": "A town, please."}]
PLACE = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False}
OPEN = {"type": "object", "properties": {"city": {"type": "string"}}}


class Size(enum.Enum):
    SMALL = "small"
    LARGE = "large"


class Street(BaseModel):
    name: str
    numbers: list[int]


class Town(BaseModel):
    name: str
    size: Size
    river: str | None
    streets: list[Street]


class Weather(BaseModel):
    """Tells the weather."""

    city: str
    days: int


def raised(kind, call):
    """The error of this class that a call raises."""
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__}")


def drained(stream):
    for _ in stream:
        pass


# --- OpenAI

chat = openai.OpenAI(base_url=f"{URL}/v1", api_key="any", max_retries=0)
azure = openai.OpenAI(base_url=f"{URL}/azure/openai/v1", api_key="any", max_retries=0)
OPENAI_FAULTS = {
    401: openai.AuthenticationError, 429: openai.RateLimitError, 500: openai.InternalServerError,
    503: openai.InternalServerError, 529: openai.InternalServerError,
}


def openai_chat():
    for client in (chat, azure):
        answer = client.chat.completions.create(model="gpt-4o", messages=SAID)
        assert answer.choices[0].message.content and answer.usage.completion_tokens


def openai_chat_parse():
    parsed = chat.chat.completions.parse(model="gpt-4o", messages=SAID, response_format=Town)
    assert isinstance(parsed.choices[0].message.parsed, Town)


def openai_chat_tools():
    tools = [openai.pydantic_function_tool(Weather, name="weather")]
    answer = chat.chat.completions.parse(model="gpt-4o", messages=SAID, tools=tools).choices[0]
    call = answer.message.tool_calls[0]
    assert answer.finish_reason == "tool_calls" and isinstance(call.function.parsed_arguments, Weather)
    said = [*SAID, answer.message, {"role": "tool", "tool_call_id": call.id, "content": "sunny"}]
    assert chat.chat.completions.create(model="gpt-4o", messages=said, tools=tools).choices[0].message.content


def openai_chat_stream():
    with chat.chat.completions.stream(model="gpt-4o", messages=SAID, response_format=Town) as stream:
        pieces = sum(event.type == "content.delta" for event in stream)
        assert pieces > 1 and isinstance(stream.get_final_completion().choices[0].message.parsed, Town)


def openai_chat_stream_tools():
    tools = [openai.pydantic_function_tool(Weather, name="weather")]
    with chat.chat.completions.stream(model="gpt-4o", messages=SAID, tools=tools) as stream:
        call = stream.get_final_completion().choices[0].message.tool_calls[0]
        assert isinstance(call.function.parsed_arguments, Weather)


def openai_responses_parse():
    for client in (chat, azure):
        assert isinstance(client.responses.parse(model="gpt-5", input=SAID, text_format=Town).output_parsed, Town)


def openai_responses_tools():
    tools = [openai.pydantic_function_tool(Weather, name="weather")["function"] | {"type": "function"}]
    answer = chat.responses.parse(model="gpt-5", input=SAID, tools=tools)
    call = next(item for item in answer.output if item.type == "function_call")
    result = {"type": "function_call_output", "call_id": call.call_id, "output": "sunny"}
    assert Weather.model_validate_json(call.arguments)
    assert chat.responses.create(model="gpt-5", input=[*SAID, *answer.output, result], tools=tools).output_text


def openai_responses_stream():
    with chat.responses.stream(model="gpt-5", input=SAID, text_format=Town) as stream:
        pieces = sum(event.type == "response.output_text.delta" for event in stream)
        assert pieces > 1 and isinstance(stream.get_final_response().output_parsed, Town)


def openai_refuses_open_schemas():
    form = {"type": "json_schema", "json_schema": {"name": "n", "strict": True, "schema": OPEN}}
    tool = {"type": "function", "name": "n", "strict": True, "parameters": OPEN}
    calls = {
        "response_format": lambda: chat.chat.completions.create(model="gpt-4o", messages=SAID, response_format=form),
        "tools": lambda: chat.responses.create(model="gpt-5", input=SAID, tools=[tool]),
    }
    for param, call in calls.items():
        error = raised(openai.BadRequestError, call)
        assert error.type == "invalid_request_error" and error.param.startswith(param), error.body
        assert "'additionalProperties' is required to be supplied and to be false" in error.body["message"], error.body


def openai_errors():
    for status, kind in OPENAI_FAULTS.items():
        error = raised(kind, lambda: chat.chat.completions.create(model=f"gpt-4o+{status}", messages=SAID))
        assert error.status_code == status and error.body["message"], error.body
    missing = raised(openai.NotFoundError, lambda: chat.with_options(base_url=f"{URL}/nowhere").models.retrieve("m"))
    assert missing.status_code == 404


def openai_retries():
    trouble = {"x-polywire-emulate": "500-1"}
    patient = chat.with_options(max_retries=1)
    assert patient.chat.completions.create(model="gpt-4o", messages=SAID, extra_headers=trouble).choices
    start = time.monotonic()
    assert patient.responses.create(model="gpt-5+429-1", input="The wait that is asked for is waited.").output_text
    assert time.monotonic() - start >= 1


def openai_ends():
    truncated = lambda: chat.chat.completions.parse(model="gpt-4o+truncated", messages=SAID, response_format=Town)
    raised(openai.LengthFinishReasonError, truncated)
    refused = chat.chat.completions.parse(model="gpt-4o+refusal", messages=SAID, response_format=Town)
    assert refused.choices[0].message.refusal and refused.choices[0].message.parsed is None
    cut = lambda: drained(chat.chat.completions.create(model="gpt-4o+cut", messages=SAID, stream=True))
    raised((httpx2.RemoteProtocolError, openai.APIConnectionError), cut)


# --- Anthropic

claude = anthropic.Anthropic(base_url=URL, api_key="any", max_retries=0)
vertex_claude = anthropic.AnthropicVertex(
    region="us-east5", project_id="p", access_token="any", base_url=f"{URL}/vertex/v1", max_retries=0
)
ASK = {"model": "claude-sonnet-4-6", "max_tokens": 99}
CLAUDE_FAULTS = {
    401: anthropic.AuthenticationError, 429: anthropic.RateLimitError, 500: anthropic.InternalServerError,
    503: anthropic.InternalServerError, 529: anthropic.InternalServerError,
}


def anthropic_messages():
    for client in (claude, vertex_claude):
        answer = client.messages.create(messages=SAID, **ASK)
        assert answer.content[0].text and answer.stop_reason == "end_turn" and answer.usage.output_tokens


def anthropic_tools():
    for client in (claude, vertex_claude):
        tools = [{"name": "weather", "input_schema": PLACE}]
        answer = client.messages.create(messages=SAID, tools=tools, **ASK)
        call = answer.content[0]
        assert answer.stop_reason == "tool_use" and isinstance(call.input["city"], str)
        result = [{"type": "tool_result", "tool_use_id": call.id, "content": "sunny"}]
        said = [*SAID, {"role": "assistant", "content": answer.content}, {"role": "user", "content": result}]
        assert client.messages.create(messages=said, tools=tools, **ASK).content[0].text


def anthropic_tool_runner():
    @anthropic.beta_tool
    def weather(city: str) -> str:
        """Tells the weather.

        Args:
            city: The city.
        """
        return f"sunny in {city}"

    answer = claude.beta.messages.tool_runner(messages=SAID, tools=[weather], **ASK).until_done()
    assert answer.content[0].text


def anthropic_stream():
    for client in (claude, vertex_claude):
        with client.messages.stream(messages=SAID, **ASK) as stream:
            assert len(list(stream.text_stream)) > 1 and stream.get_final_text()


def anthropic_stream_tools():
    tools = [{"name": "weather", "input_schema": PLACE}]
    with claude.messages.stream(messages=SAID, tools=tools, **ASK) as stream:
        assert isinstance(stream.get_final_message().content[0].input["city"], str)


def anthropic_parse():
    assert isinstance(claude.messages.parse(messages=SAID, output_format=Town, **ASK).parsed_output, Town)


def anthropic_stream_parse():
    with claude.messages.stream(messages=SAID, output_format=Town, **ASK) as stream:
        assert isinstance(stream.get_final_message().parsed_output, Town)


def anthropic_refuses():
    tools = [{"name": "weather", "strict": True, "input_schema": OPEN}]
    error = raised(anthropic.BadRequestError, lambda: claude.messages.create(messages=SAID, tools=tools, **ASK))
    assert error.body["type"] == "error" and error.body["error"]["type"] == "invalid_request_error", error.body
    assert "additionalProperties" in error.body["error"]["message"], error.body
    lonely = [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "sunny"}]}]
    raised(anthropic.BadRequestError, lambda: claude.messages.create(messages=lonely, **ASK))


def anthropic_errors():
    for status, kind in CLAUDE_FAULTS.items():
        asked = ASK | {"model": f"claude-sonnet-4-6+{status}"}
        error = raised(kind, lambda: claude.messages.create(messages=SAID, **asked))
        assert error.status_code == status and error.body["error"]["message"], error.body


def anthropic_ends():
    for end, reason in (("truncated", "max_tokens"), ("refusal", "refusal")):
        answer = claude.messages.create(messages=SAID, **ASK | {"model": f"claude-sonnet-4-6+{end}"})
        assert answer.stop_reason == reason, answer
    cut = lambda: drained(claude.messages.create(messages=SAID, stream=True, **ASK | {"model": "claude-sonnet-4-6+cut"}))
    raised((httpx2.RemoteProtocolError, anthropic.APIConnectionError), cut)


# --- Google


class Anyone(google.auth.credentials.Credentials):
    """Credentials that nobody asks for more."""

    def __init__(self):
        super().__init__()
        self.token = "any"

    def refresh(self, request):
        pass


gemini = genai.Client(api_key="any", http_options=types.HttpOptions(base_url=URL))
vertex = genai.Client(
    vertexai=True, project="p", location="us-east5", credentials=Anyone(),
    http_options=types.HttpOptions(base_url=f"{URL}/vertex", api_version="v1"),
)
FLASH = "gemini-2.5-flash"


def generated(client=gemini, model=FLASH, **config):
    return client.models.generate_content(model=model, contents="A town", config=types.GenerateContentConfig(**config))


def google_schema():
    for client in (gemini, vertex):
        answer = generated(client, response_mime_type="application/json", response_schema=Town)
        assert isinstance(answer.parsed, Town), answer
        answer = generated(client, response_mime_type="application/json", response_schema=list[Street])
        assert all(isinstance(street, Street) for street in answer.parsed), answer


def google_enum():
    assert generated(response_mime_type="text/x.enum", response_schema=Size).parsed in Size


def google_json_schema():
    answer = generated(response_mime_type="application/json", response_json_schema=Town.model_json_schema())
    Town.model_validate_json(answer.text)


def google_stream():
    for client in (gemini, vertex):
        pieces = [piece.text or "" for piece in client.models.generate_content_stream(model=FLASH, contents="A town")]
        assert len(pieces) > 1 and "".join(pieces)


def google_tools():
    declared = types.FunctionDeclaration(name="weather", parameters_json_schema=PLACE)
    for client in (gemini, vertex):
        answer = generated(client, tools=[types.Tool(function_declarations=[declared])])
        assert answer.function_calls[0].name == "weather" and isinstance(answer.function_calls[0].args["city"], str)


def google_calls_functions():
    asked = []

    def weather(city: str) -> str:
        """Tells the weather."""
        asked.append(city)
        return "sunny"

    assert generated(tools=[weather]).text and len(asked) == 1


def google_chats():
    talk = gemini.chats.create(model=FLASH)
    assert talk.send_message("A town, please.").text and talk.send_message("Another one, please.").text


def google_errors():
    faults = {401: "UNAUTHENTICATED", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE"}
    for code, status in faults.items():
        kind = genai.errors.ClientError if code < 500 else genai.errors.ServerError
        error = raised(kind, lambda: generated(model=f"{FLASH}+{code}"))
        assert (error.code, error.status) == (code, status) and error.message, error
    declared = types.FunctionDeclaration(name="no spaces", parameters_json_schema=PLACE)
    error = raised(genai.errors.ClientError, lambda: generated(tools=[types.Tool(function_declarations=[declared])]))
    assert (error.code, error.status) == (400, "INVALID_ARGUMENT"), error


def google_ends():
    answer = generated(model=f"{FLASH}+truncated")
    assert answer.candidates[0].finish_reason == types.FinishReason.MAX_TOKENS, answer


# --- Bedrock

bedrock = botocore.session.get_session().create_client(
    "bedrock-runtime", region_name="us-east-1", endpoint_url=URL, aws_access_key_id="any", aws_secret_access_key="any",
    config=botocore.config.Config(retries={"total_max_attempts": 1}),
)
SONNET = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
WORDS = [{"role": "user", "content": [{"text": "Weather?"}]}]
TOOLS = {"tools": [{"toolSpec": {"name": "weather", "inputSchema": {"json": PLACE}}}]}


def bedrock_converse():
    answer = bedrock.converse(modelId=SONNET, messages=WORDS)
    assert answer["output"]["message"]["content"][0]["text"] and answer["stopReason"] == "end_turn"


def bedrock_tools():
    answer = bedrock.converse(modelId=SONNET, messages=WORDS, toolConfig=TOOLS)
    said = answer["output"]["message"]
    call = said["content"][0]["toolUse"]
    assert answer["stopReason"] == "tool_use" and isinstance(call["input"]["city"], str)
    result = {"toolResult": {"toolUseId": call["toolUseId"], "content": [{"text": "sunny"}]}}
    said = [*WORDS, said, {"role": "user", "content": [result]}]
    answer = bedrock.converse(modelId=SONNET, messages=said, toolConfig=TOOLS)
    assert answer["output"]["message"]["content"][0]["text"]


def bedrock_stream():
    events = list(bedrock.converse_stream(modelId=SONNET, messages=WORDS, toolConfig=TOOLS)["stream"])
    deltas = [event["contentBlockDelta"]["delta"] for event in events if "contentBlockDelta" in event]
    assert json.loads("".join(delta["toolUse"]["input"] for delta in deltas))["city"]
    assert [event["messageStop"]["stopReason"] for event in events if "messageStop" in event] == ["tool_use"]


def bedrock_invoke():
    body = json.dumps({"anthropic_version": "bedrock-2023-05-31", "max_tokens": 99, "messages": SAID})
    answer = json.loads(bedrock.invoke_model(modelId=SONNET, body=body)["body"].read())
    assert answer["content"][0]["text"] and answer["stop_reason"] == "end_turn"
    events = bedrock.invoke_model_with_response_stream(modelId=SONNET, body=body)["body"]
    kinds = [json.loads(event["chunk"]["bytes"])["type"] for event in events]
    assert (kinds[0], kinds[-1]) == ("message_start", "message_stop"), kinds


def bedrock_errors():
    ask = lambda trouble: bedrock.converse(modelId=SONNET + trouble, messages=WORDS)
    raised(bedrock.exceptions.ThrottlingException, lambda: ask("+429"))
    raised(bedrock.exceptions.InternalServerException, lambda: ask("+500"))
    raised(bedrock.exceptions.ServiceUnavailableException, lambda: ask("+503"))
    lonely = [{"role": "user", "content": [{"toolResult": {"toolUseId": "t", "content": [{"text": "sunny"}]}}]}]
    refused = lambda: bedrock.converse(modelId=SONNET, messages=lonely, toolConfig=TOOLS)
    error = raised(bedrock.exceptions.ValidationException, refused)
    assert error.response["ResponseMetadata"]["HTTPStatusCode"] == 400 and error.response["Error"]["Message"]


CASES = [case for name, case in list(globals().items()) if name.split("_")[0] in ("openai", "anthropic", "google", "bedrock")]
CASES = [case for case in CASES if type(case) is type(raised)]
faults = []
for case in CASES:
    try:
        case()
    except Exception:
        faults.append(f"{case.__name__}: {traceback.format_exc(limit=-2)}")
print("\n".join([*faults, f"python, emulated: {len(CASES)} cases, {len(faults)} faults"]))
sys.exit(bool(faults))
