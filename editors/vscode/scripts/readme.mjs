// node scripts/readme.mjs: writes the tables of settings and commands in README.md anew, from package.json. A unit test
// holds them.
import { readFileSync, writeFileSync } from "node:fs";
import { filled } from "./tables.mjs";

const manifest = JSON.parse(readFileSync("package.json", "utf8"));
writeFileSync("README.md", filled(readFileSync("README.md", "utf8"), manifest));
