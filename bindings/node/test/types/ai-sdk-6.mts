// The middleware is one of the AI SDK 6: this file is compiled, not run.

import { createOpenAI } from "@ai-sdk/openai-6";
import { wrapLanguageModel } from "ai-6";
import { polywire } from "polywire/ai-sdk";

const model = createOpenAI({})("gpt-5");
void wrapLanguageModel({ model, middleware: polywire({ to: "auto" }) });
void wrapLanguageModel({ model, middleware: [polywire({ to: "openai-strict", onChanges: (changes) => changes.length })] });
// @ts-expect-error A dialect must be named.
void wrapLanguageModel({ model, middleware: polywire({}) });
