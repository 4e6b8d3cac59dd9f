// The same package from CommonJS: this file is compiled, not run.

import polywire = require("polywire");

const fitted: polywire.Fitted<unknown> = polywire.fit({ type: "object" }, "openai");
const error: polywire.PolywireError | undefined = undefined;
void [fitted, error];
