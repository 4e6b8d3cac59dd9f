"""The official Python SDKs read what polywire wrote.

Usage: sdks.py CASES, the output of `cargo run -p polywire --example interop corpus/wire`. Requests are held against the
SDKs' own request types; answers, streams and errors are served on loopback to the SDKs' own clients.
"""

import collections
import fnmatch
import http.server
import json
import sys
import threading
import typing
import warnings

import botocore.config
import botocore.exceptions
import botocore.session
import botocore.validate
import httpx2  # noqa: F401, loaded before lists are meant
import pydantic

# An Iterable is checked lazily, after a union has chosen its branch. Lists are meant.
lazy, typing.Iterable = typing.Iterable, typing.List
import anthropic
import openai
from anthropic.types.message_create_params import MessageCreateParams
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat.completion_create_params import CompletionCreateParams
from openai.types.responses.response_create_params import ResponseCreateParams

typing.Iterable = lazy
from google import genai
from google.genai import types as google

# What an SDK does not take as it is meant: case, protocol or model as a pattern, kinds, reason. A row that is no longer needed fails.
THOUGHTS = "thoughts go into `reasoning_content`, as hosts of open models have it; the owner's types do not know it"
SAMPLING = "the types are of the newest version of the API, which has no sampling; these models are asked in the version before"
NEW_WORD = "a stop word from tomorrow is passed on; only the strict mode of the client, which is not its default, refuses it"
NEW_FIELD = "a field that nobody knows yet is passed on; for this test the types are closed"
AS_IT_WAS = "an answer in its own protocol comes back as it was, not as it should have been"
CUSTOM = "calls are compared as calls of functions; custom tools and namespaces have another form, which the laws of the wire compare"
NAMESPACE = "a namespace without a description goes out as it came; the types ask for one"
ANSWER = ("response", "stream")
EXCEPTIONS = [
    ("openai-chat/request-thinking", "openai*chat*", ("request",), THOUGHTS),
    ("openai-responses/request-reasoning", "openai*chat*", ("request",), THOUGHTS),
    ("anthropic-messages/request-thinking", "openai*chat*", ("request",), THOUGHTS),
    ("bedrock-converse/request-thinking", "openai*chat*", ("request",), THOUGHTS),
    ("gemini/request-thinking", "openai*chat*", ("request",), THOUGHTS),
    ("openai-chat/request-new-fields", "openai*chat*", ("request",), NEW_FIELD),
    ("anthropic-messages/request-features", "anthropic*", ("request",), NEW_FIELD),
    ("anthropic-messages/request-sampling", "anthropic*", ("request",), SAMPLING),
    ("gemini/request-snake-case", "anthropic/*", ("request",), SAMPLING),
    ("bedrock-converse/request-sampling", "anthropic/*", ("request",), SAMPLING),
    ("anthropic-messages/response-new-word", "openai-chat", ANSWER, NEW_WORD),
    ("anthropic-messages/response-new-word", "openai-responses", ANSWER, NEW_WORD),
    ("anthropic-messages/response-new-word", "anthropic-messages", ANSWER, NEW_WORD),
    ("openai-chat/response-parallel-calls", "openai-chat", ANSWER, AS_IT_WAS),
    ("gemini/response-code-assist", "gemini", ANSWER, AS_IT_WAS),
    ("gemini/response-parallel-calls", "gemini", ANSWER, AS_IT_WAS),
    ("gemini/stream-text-and-call", "gemini", ANSWER, AS_IT_WAS),
    ("openai-chat/stream-custom-call", "openai-chat", ANSWER, CUSTOM),
    ("openai-chat/stream-custom-call", "openai-responses", ANSWER, CUSTOM),
    ("openai-responses/response-custom-call", "openai-chat", ANSWER, CUSTOM),
    ("openai-responses/response-custom-call", "openai-responses", ANSWER, CUSTOM),
    ("openai-responses/stream-custom-call", "openai-chat", ANSWER, CUSTOM),
    ("openai-responses/stream-custom-call", "openai-responses", ANSWER, CUSTOM),
    ("openai-responses/stream-new-fields", "openai-responses", ANSWER, CUSTOM),
    ("openai-responses/request-codex", "openai-responses", ("request",), NAMESPACE),
    ("openai-responses/request-codex", "openai/gpt-5", ("request",), NAMESPACE),
]

# Why an answer ended, in the words of a protocol. A reason that is not here has no word there.
STOPS = {
    "openai-chat": {"end_turn": "stop", "max_tokens": "length", "tool_use": "tool_calls", "content_filter": "content_filter"},
    "openai-responses": {
        "end_turn": "completed", "max_tokens": "max_output_tokens", "tool_use": "completed", "content_filter": "content_filter",
    },
    "anthropic-messages": {"end_turn": "end_turn", "max_tokens": "max_tokens", "tool_use": "tool_use", "refusal": "refusal"},
    "gemini": {"end_turn": "STOP", "max_tokens": "MAX_TOKENS", "tool_use": "STOP"},
    "bedrock-converse": {"end_turn": "end_turn", "max_tokens": "max_tokens", "tool_use": "tool_use"},
}

# The class of the error that a client raises, by the kind of the error.
RAISED = {
    "openai-chat": {"rate_limit": openai.RateLimitError, "invalid_request": openai.BadRequestError},
    "openai-responses": {"rate_limit": openai.RateLimitError, "invalid_request": openai.BadRequestError},
    "anthropic-messages": {"rate_limit": anthropic.RateLimitError, "invalid_request": anthropic.BadRequestError},
    "gemini": {"rate_limit": "RESOURCE_EXHAUSTED", "invalid_request": "INVALID_ARGUMENT", "context_length": "INVALID_ARGUMENT"},
    "bedrock-converse": {
        "rate_limit": "ThrottlingException", "invalid_request": "ValidationException", "context_length": "ValidationException",
    },
}


# --- requests


def typed(kind):
    """Checks a body against a type, unknown fields refused."""
    adapter = pydantic.TypeAdapter(kind)
    return lambda body: adapter.validate_json(json.dumps(body))


def close_types():
    closed = pydantic.ConfigDict(extra="forbid", arbitrary_types_allowed=True)
    for name, module in list(sys.modules.items()):
        if name.startswith(("openai.", "anthropic.")):
            if hasattr(module, "SequenceNotStr"):
                module.SequenceNotStr = typing.List
            for value in list(vars(module).values()):
                if type(value).__name__ == "_TypedDictMeta":
                    value.__pydantic_config__ = closed


class GenerateContent(pydantic.BaseModel):
    """The body of `generateContent`, of which the SDK has only the parts."""

    model_config = pydantic.ConfigDict(extra="forbid")
    contents: list[google.Content]
    systemInstruction: google.Content | None = None
    tools: list[google.Tool] | None = None
    toolConfig: google.ToolConfig | None = None
    generationConfig: google.GenerationConfig | None = None
    safetySettings: list[google.SafetySetting] | None = None
    cachedContent: str | None = None
    labels: dict[str, str] | None = None


def converse(shape):
    def known(value, shape, path):
        """What botocore's own validator lets pass: unknown fields and words."""
        if shape.type_name == "structure" and not shape.is_document_type:
            for name, inner in value.items():
                if name not in shape.members:
                    raise ValueError(f"{path}: unknown field {name}")
                known(inner, shape.members[name], f"{path}/{name}")
        elif shape.type_name == "list":
            for index, inner in enumerate(value):
                known(inner, shape.member, f"{path}/{index}")
        elif shape.type_name == "string" and shape.enum and value not in shape.enum:
            raise ValueError(f"{path}: unknown word {value}")

    def check(body):
        body = {"modelId": "m", **body}
        report = botocore.validate.ParamValidator().validate(body, shape)
        if report.has_errors():
            raise ValueError(report.generate_report())
        known(body, shape, "")

    return check


# --- clients: each gives (text, refusal, calls, input tokens, output tokens, word for the end)


class Chat:
    def __init__(self, url):
        self.client = openai.OpenAI(base_url=url, api_key="k", max_retries=0, _strict_response_validation=True)
        self.asked = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}

    def response(self):
        return self.heard(self.client.chat.completions.create(**self.asked))

    def stream(self):
        state = ChatCompletionStreamState()
        for chunk in self.client.chat.completions.create(**self.asked, stream=True):
            state.handle_chunk(chunk)
        return self.heard(state.current_completion_snapshot)

    def heard(self, answer):
        choice = answer.choices[0]
        calls = [(call.id, call.function.name, json.loads(call.function.arguments)) for call in choice.message.tool_calls or []]
        usage = answer.usage and (answer.usage.prompt_tokens, answer.usage.completion_tokens)
        return choice.message.content or "", choice.message.refusal or "", calls, usage, choice.finish_reason


class Responses(Chat):
    asked = {"model": "m", "input": "hi"}

    def response(self):
        return self.heard(self.client.responses.create(model="m", input="hi"))

    def stream(self):
        last = None
        with self.client.responses.stream(model="m", input="hi") as events:
            for event in events:
                last = getattr(event, "response", last)
        return self.heard(last)

    def heard(self, answer):
        parts = [part for item in answer.output if item.type == "message" for part in item.content]
        refusal = "".join(part.refusal for part in parts if part.type == "refusal")
        calls = [(item.call_id, item.name, json.loads(item.arguments)) for item in answer.output if item.type == "function_call"]
        usage = answer.usage and (answer.usage.input_tokens, answer.usage.output_tokens)
        word = answer.incomplete_details.reason if answer.status == "incomplete" else answer.status
        return answer.output_text, refusal, calls, usage, word


class Messages:
    def __init__(self, url):
        self.client = anthropic.Anthropic(base_url=url, api_key="k", max_retries=0, _strict_response_validation=True)
        self.asked = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}

    def response(self):
        return self.heard(self.client.messages.create(**self.asked))

    def stream(self):
        with self.client.messages.stream(**self.asked) as events:
            return self.heard(events.get_final_message())

    def heard(self, answer):
        text = "".join(block.text for block in answer.content if block.type == "text")
        calls = [(block.id, block.name, block.input) for block in answer.content if block.type == "tool_use"]
        usage = answer.usage
        read = usage.input_tokens + (usage.cache_read_input_tokens or 0) + (usage.cache_creation_input_tokens or 0)
        refusal = (answer.stop_details and answer.stop_details.explanation) or ""
        return text, refusal, calls, (read, usage.output_tokens), answer.stop_reason


class Gemini:
    def __init__(self, url):
        self.client = genai.Client(api_key="k", http_options=google.HttpOptions(base_url=url))

    def response(self):
        return self.heard([self.client.models.generate_content(model="m", contents="hi")])

    def stream(self):
        return self.heard(list(self.client.models.generate_content_stream(model="m", contents="hi")))

    def heard(self, chunks):
        candidates = [candidate for chunk in chunks for candidate in chunk.candidates or []]
        parts = [part for candidate in candidates if candidate.content for part in candidate.content.parts or []]
        text = "".join(part.text for part in parts if part.text and not part.thought)
        calls = [(part.function_call.id, part.function_call.name, part.function_call.args or {}) for part in parts if part.function_call]
        usage = ([chunk.usage_metadata for chunk in chunks if chunk.usage_metadata] or [None])[-1]
        usage = usage and (usage.prompt_token_count or 0, (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0))
        word = ([candidate.finish_reason for candidate in candidates if candidate.finish_reason] or [None])[-1]
        # The client leaves `finishMessage` out, where the words of a refusal are.
        return text, None, calls, usage, word and word.value


class Bedrock:
    def __init__(self, url):
        self.client = botocore.session.get_session().create_client(
            "bedrock-runtime", region_name="us-east-1", endpoint_url=url, aws_access_key_id="k", aws_secret_access_key="k",
            config=botocore.config.Config(retries={"total_max_attempts": 1}),
        )
        self.asked = {"modelId": "m", "messages": [{"role": "user", "content": [{"text": "hi"}]}]}

    def response(self):
        answer = self.client.converse(**self.asked)
        return self.heard(answer["output"]["message"]["content"], answer["usage"], answer["stopReason"])

    def stream(self):
        blocks, usage, word = collections.defaultdict(dict), None, None
        for event in self.client.converse_stream(**self.asked)["stream"]:
            for name, value in event.items():
                block = blocks[value["contentBlockIndex"]] if name.startswith("contentBlock") else None
                if name == "contentBlockStart" and "toolUse" in value["start"]:
                    block["toolUse"] = {**value["start"]["toolUse"], "input": ""}
                elif name == "contentBlockDelta" and "text" in value["delta"]:
                    block["text"] = block.get("text", "") + value["delta"]["text"]
                elif name == "contentBlockDelta" and "toolUse" in value["delta"]:
                    block["toolUse"]["input"] += value["delta"]["toolUse"]["input"]
                elif name == "messageStop":
                    word = value["stopReason"]
                elif name == "metadata":
                    usage = value["usage"]
        for block in blocks.values():
            if "toolUse" in block:
                block["toolUse"]["input"] = json.loads(block["toolUse"]["input"] or "{}")
        return self.heard([blocks[index] for index in sorted(blocks)], usage, word)

    def heard(self, blocks, usage, word):
        text = "".join(block.get("text", "") for block in blocks)
        calls = [(call["toolUseId"], call["name"], call["input"]) for call in (block.get("toolUse") for block in blocks) if call]
        read = usage and sum(usage.get(name, 0) for name in ("inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens"))
        return text, "", calls, usage and (read, usage["outputTokens"]), word


def compare(case, heard):
    """What polywire says the answer is must be what the SDK says it is."""
    answer, (text, refusal, calls, usage, word) = case["answer"], heard
    blocks = answer["content"]
    said = "".join(block["text"] for block in blocks if block["type"] == "text")
    assert text.startswith(said), f"text {text!r}, not {said!r}"
    if refusal is not None:
        assert (answer.get("refusal") or "") in text + refusal, f"the refusal is not in {text + refusal!r}"
    wanted = [(block["id"], block["name"], json.loads(block["arguments"] or "{}")) for block in blocks if block["type"] == "tool_call"]
    assert calls == wanted, f"calls {calls}, not {wanted}"
    if answer.get("usage"):
        cost = (answer["usage"]["input_tokens"], answer["usage"]["output_tokens"])
        assert usage == cost, f"usage {usage}, not {cost}"
    stop = STOPS[case["to"]].get(answer["stop"], word)
    assert word == stop, f"stop {word}, not {stop}"


def error_of(client, kind):
    """What the client raises: its class or code, its status and its words."""
    try:
        client.response()
    except (openai.APIStatusError, anthropic.APIStatusError) as error:
        return type(error), error.status_code, str(error)
    except genai.errors.APIError as error:
        return error.status, error.code, error.message
    except botocore.exceptions.ClientError as error:
        code, status = error.response["Error"]["Code"], error.response["ResponseMetadata"]["HTTPStatusCode"]
        return code, status, error.response["Error"]["Message"]
    raise AssertionError("nothing was raised")


def compare_error(case, client):
    error = case["error"]
    raised, status, message = error_of(client, error["kind"])
    assert status == case["status"], f"status {status}, not {case['status']}"
    assert error["message"] in message, f"message {message!r}, not {error['message']!r}"
    wanted = RAISED[case["to"]].get(error["kind"], raised)
    assert raised == wanted, f"{raised}, not {wanted}"


# --- the server


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    reply = (200, {}, b"")

    def do_POST(self):
        self.rfile.read(int(self.headers.get("content-length", 0)))
        status, headers, body = Handler.reply
        self.send_response(status)
        for name, value in {**headers, "content-length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def media_type(case):
    if case["kind"] != "stream":
        return "application/json"
    return "application/vnd.amazon.eventstream" if case["to"] == "bedrock-converse" else "text/event-stream"


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    close_types()
    # A word that the SDK does not know is what one case is about.
    warnings.filterwarnings("ignore", message=".* is not a valid FinishReason")
    clients = {
        "openai-chat": Chat(url), "openai-responses": Responses(url), "anthropic-messages": Messages(url),
        "gemini": Gemini(url), "bedrock-converse": Bedrock(url),
    }
    shape = clients["bedrock-converse"].client.meta.service_model.operation_model("Converse").input_shape
    types = {
        "openai-chat": typed(CompletionCreateParams), "openai-responses": typed(ResponseCreateParams),
        "anthropic-messages": typed(MessageCreateParams), "gemini": typed(GenerateContent), "bedrock-converse": converse(shape),
    }
    counts, faults, used = collections.Counter(), [], set()
    listed = {(name, to, kind): reason for name, to, kinds, reason in EXCEPTIONS for kind in kinds}
    for line in open(sys.argv[1], encoding="utf-8"):
        case = json.loads(line)
        case |= case.pop("said")
        target = case.get("model", case["to"])
        key = (case["name"], target, case["kind"])
        try:
            if case["kind"] == "request":
                types[case["to"]](case["body"])
            else:
                client = clients[case["to"]]
                headers = {"content-type": media_type(case), **case.get("headers", {})}
                Handler.reply = (case.get("status", 200), headers, bytes.fromhex(case["hex"]))
                if case["kind"] == "error":
                    compare_error(case, client)
                else:
                    compare(case, getattr(client, case["kind"])())
            counts[case["kind"]] += 1
        except Exception as fault:
            counts["exception"] += 1
            rows = [row for row in listed if key[::2] == row[::2] and fnmatch.fnmatch(target, row[1])]
            used.update(rows)
            if not rows:
                faults.append(f"{key}: {type(fault).__name__}: {str(fault)[:2000]}")
    faults += [f"{key}: listed as an exception, but fine" for key in listed if key not in used]
    if faults:
        print("\n".join(faults))
    print(f"python: {dict(counts)}, {len(faults)} faults")
    sys.exit(bool(faults) or not counts)


main()
