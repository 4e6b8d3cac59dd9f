#!/usr/bin/env node
"use strict";

const { runCommand } = require("../dist/index.js");

process.exitCode = runCommand(process.argv.slice(2));
