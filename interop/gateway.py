"""The official Python SDKs talk to the gateway, unmodified: each protocol in, a provider of every protocol behind.

Usage: gateway.py PROVIDERS, a list of `{ provider, model, url }` with the URL of a running `polywire serve` without keys. Prints a table of what works and fails if anything does not.
"""

import json
import logging
import sys
import traceback
import warnings

import anthropic
import openai
from google import genai
from google.genai import types
from pydantic import BaseModel

warnings.simplefilter("ignore")
logging.disable()
PROVIDERS = json.loads(sys.argv[1])
URL = PROVIDERS[0]["url"]
ASKED = "A town, please."
SAID = [{"role": "user", "content": ASKED}]
ARGUMENTS = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "labels": {"type": "object", "additionalProperties": {"type": "string"}}},
    "required": ["city"],
}


class Street(BaseModel):
    name: str
    numbers: list[int]


class Town(BaseModel):
    name: str
    river: str | None
    streets: list[Street]


def check_arguments(arguments):
    assert isinstance(arguments["city"], str), arguments
    assert isinstance(arguments.get("labels", {}), dict), arguments


class Chat:
    name = f"OpenAI Chat, openai {openai.__version__}"

    def __init__(self):
        self.client = openai.OpenAI(base_url=f"{URL}/v1", api_key="any")

    def plain(self, model):
        assert self.client.chat.completions.create(model=model, messages=SAID).choices[0].message.content

    def stream(self, model):
        chunks = list(self.client.chat.completions.create(model=model, messages=SAID, stream=True))
        assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
        assert any(chunk.choices and chunk.choices[0].finish_reason == "stop" for chunk in chunks)

    def tool(self, model):
        tool = {"type": "function", "function": {"name": "weather", "parameters": ARGUMENTS}}
        answer = self.client.chat.completions.create(model=model, messages=SAID, tools=[tool], tool_choice="required")
        check_arguments(json.loads(answer.choices[0].message.tool_calls[0].function.arguments))

    def structured(self, model):
        answer = self.client.chat.completions.parse(model=model, messages=SAID, response_format=Town)
        assert isinstance(answer.choices[0].message.parsed, Town)


class Responses(Chat):
    name = f"OpenAI Responses, openai {openai.__version__}"

    def plain(self, model):
        first = self.client.responses.create(model=model, input=ASKED)
        assert first.output_text
        assert self.client.responses.create(model=model, input="And then?", previous_response_id=first.id).output_text

    def stream(self, model):
        events = list(self.client.responses.create(model=model, input=ASKED, stream=True))
        assert "".join(event.delta for event in events if event.type == "response.output_text.delta")
        assert events[-1].type == "response.completed"

    def tool(self, model):
        tool = {"type": "function", "name": "weather", "parameters": ARGUMENTS, "strict": False}
        answer = self.client.responses.create(model=model, input=ASKED, tools=[tool], tool_choice="required")
        check_arguments(json.loads(next(item for item in answer.output if item.type == "function_call").arguments))

    def structured(self, model):
        assert isinstance(self.client.responses.parse(model=model, input=ASKED, text_format=Town).output_parsed, Town)


class Messages:
    name = f"Anthropic Messages, anthropic {anthropic.__version__}"

    def __init__(self):
        self.client = anthropic.Anthropic(base_url=URL, api_key="any")

    def plain(self, model):
        assert self.client.messages.create(model=model, max_tokens=500, messages=SAID).content[0].text
        assert self.client.messages.count_tokens(model=model, messages=SAID).input_tokens > 0

    def stream(self, model):
        with self.client.messages.stream(model=model, max_tokens=500, messages=SAID) as stream:
            assert "".join(stream.text_stream)
            assert stream.get_final_message().stop_reason == "end_turn"

    def tool(self, model):
        tool = {"name": "weather", "input_schema": ARGUMENTS}
        answer = self.client.messages.create(model=model, max_tokens=500, messages=SAID, tools=[tool], tool_choice={"type": "any"})
        check_arguments(next(block for block in answer.content if block.type == "tool_use").input)

    def structured(self, model):
        format = {"type": "json_schema", "schema": anthropic.transform_schema(Town)}
        answer = self.client.messages.create(model=model, max_tokens=500, messages=SAID, extra_body={"output_config": {"format": format}})
        Town.model_validate_json(next(block for block in answer.content if block.type == "text").text)


class Gemini:
    name = f"Gemini, google-genai {genai.__version__}"

    def __init__(self):
        self.client = genai.Client(api_key="any", http_options=types.HttpOptions(base_url=URL))

    def plain(self, model):
        assert self.client.models.generate_content(model=model, contents=ASKED).text
        assert self.client.models.count_tokens(model=model, contents=ASKED).total_tokens > 0

    def stream(self, model):
        chunks = list(self.client.models.generate_content_stream(model=model, contents=ASKED))
        assert "".join(chunk.text or "" for chunk in chunks)
        assert chunks[-1].candidates[0].finish_reason == types.FinishReason.STOP

    def tool(self, model):
        function = types.FunctionDeclaration(name="weather", parameters_json_schema=ARGUMENTS)
        calling = types.ToolConfig(function_calling_config=types.FunctionCallingConfig(mode="ANY"))
        config = types.GenerateContentConfig(tools=[types.Tool(function_declarations=[function])], tool_config=calling)
        check_arguments(self.client.models.generate_content(model=model, contents=ASKED, config=config).function_calls[0].args)

    def structured(self, model):
        config = types.GenerateContentConfig(response_mime_type="application/json", response_json_schema=Town.model_json_schema())
        Town.model_validate_json(self.client.models.generate_content(model=model, contents=ASKED, config=config).text)


failures = 0
print("| client | " + " | ".join(provider["provider"] for provider in PROVIDERS) + " |")
print("|---" * (len(PROVIDERS) + 1) + "|")
for client in (Chat(), Responses(), Messages(), Gemini()):
    cells = []
    for model in (provider["model"] for provider in PROVIDERS):
        works = []
        for kind in ("plain", "stream", "tool", "structured"):
            try:
                getattr(client, kind)(model)
                works.append(kind)
            except Exception:
                failures += 1
                works.append(f"**no {kind}**")
                print(f"{client.name}, {model}, {kind}:\n{traceback.format_exc(limit=-3)}", file=sys.stderr)
        cells.append(", ".join(works))
    print(f"| {client.name} | " + " | ".join(cells) + " |")
sys.exit(1 if failures else 0)
