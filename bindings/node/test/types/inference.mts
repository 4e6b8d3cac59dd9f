// Types are inferred from schemas: this file is compiled, not run.

import { type } from "arktype";
import { Client, fit, parse, PartialParser, tool, type DeepPartial } from "polywire";
import * as v from "valibot";
import { z } from "zod";
import { z as z3 } from "zod-3";

/** Compiles only if both types are the same. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const expectSame = <A, B>(_same: Same<A, B>): void => {};

const four = z.object({ name: z.string(), born: z.string().transform((text) => new Date(text)), tags: z.array(z.string()).default([]) });
interface Four {
  name: string;
  born: Date;
  tags: string[];
}
const three = z3.object({ n: z3.number().optional() });
const val = v.object({ pair: v.tuple([v.string(), v.number()]) });
const ark = type({ kind: "'a' | 'b'" });
const plain = { type: "object" } as const;

const client = new Client();
const options = { model: "emulator/openai" };

const asked = await client.ask("", four, options);
expectSame<typeof asked.value, Four>(true);
expectSame<typeof asked.value.born, Date>(true);
expectSame<Awaited<ReturnType<typeof client.askText>>["text"], string>(true);

const loaded = fit(three, "openai-strict").load({});
expectSame<typeof loaded.n, number | undefined>(true);
const typed = parse("", val).typed;
expectSame<typeof typed, { pair: [string, number] } | undefined>(true);
const parsed = parse("", ark);
expectSame<typeof parsed.value, unknown>(true);
expectSame<NonNullable<typeof parsed.typed>["kind"], "a" | "b">(true);
const any = await client.ask("", plain, options);
expectSame<typeof any.value, unknown>(true);

for await (const partial of client.askStream("", four, options)) {
  expectSame<typeof partial.value, DeepPartial<Four>>(true);
  expectSame<typeof partial.value.name, string | undefined>(true);
}
const piece = new PartialParser(val).push("");
expectSame<typeof piece, DeepPartial<{ pair: [string, number] }> | undefined>(true);

const weather = tool({
  name: "weather",
  schema: z.object({ city: z.string(), unit: z.enum(["C", "F"]).default("C") }),
  execute: (args) => {
    expectSame<typeof args.unit, "C" | "F">(true);
    return args.city;
  },
});
const ended = await client.run("", { tools: [weather], schema: four, model: "emulator/openai" });
expectSame<typeof ended.value, Four | undefined>(true);

// @ts-expect-error A model must be named.
void client.ask("", four, {});
// @ts-expect-error There is no such option.
void fit(four, "openai", { stict: "auto" });
