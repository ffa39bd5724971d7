// Holds src/protocol.ts to editors/contract.json, which the server's own types make (lsp/contract_test.go).
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import test from "node:test";
import ts from "typescript";

interface Contract {
  commands: Record<string, { argument: Record<string, string>; result: string }>;
  requests: Record<string, { params: string; result: string }>;
  notifications: Record<string, { params: string; fromClient?: boolean }>;
  errorData: string;
  types: Record<string, Record<string, string>>;
  enums: Record<string, string[]>;
}

/** Who writes a value: what it must hold differs. */
type By = "server" | "client";

/** An object of the contract, or several that a value may be. */
type Fields = Map<string, { expr: string; optional: boolean }>;

const contract = JSON.parse(readFileSync("../contract.json", "utf8")) as Contract;

class Mirror {
  readonly faults: string[] = [];
  private readonly seen = new Set<string>();
  private readonly checker: ts.TypeChecker;
  private readonly source: ts.SourceFile;

  constructor(text?: string) {
    const options = ts.parseJsonConfigFileContent(
      ts.readConfigFile("tsconfig.json", ts.sys.readFile.bind(ts.sys)).config,
      ts.sys,
      ".",
    ).options;
    const host = ts.createCompilerHost(options);
    const file = resolve("src/protocol.ts");
    if (text !== undefined) {
      const read = host.getSourceFile.bind(host);
      host.getSourceFile = (name, ...rest) =>
        name === file ? ts.createSourceFile(name, text, ts.ScriptTarget.ES2023) : read(name, ...rest);
    }
    const program = ts.createProgram([file], options, host);
    this.checker = program.getTypeChecker();
    this.source = program.getSourceFile(file)!;
  }

  /** The properties of one of protocol.ts' interfaces, or none. */
  rows(name: string): Map<string, ts.Type> {
    const module = this.checker.getSymbolAtLocation(this.source)!;
    const symbol = this.checker.getExportsOfModule(module).find((s) => s.name === name);
    assert.ok(symbol, `src/protocol.ts has no ${name}`);
    return this.properties(this.checker.getDeclaredTypeOfSymbol(symbol));
  }

  properties(type: ts.Type): Map<string, ts.Type> {
    return new Map(this.checker.getPropertiesOfType(type).map((p) => [p.name, this.checker.getTypeOfSymbol(p)]));
  }

  /** Holds types, of which a value may have any, against an expression of the contract. */
  compare(types: readonly ts.Type[], expr: string, at: string, by: By): void {
    const own = types.flatMap(each).filter((t) => !(t.flags & ts.TypeFlags.Undefined));
    if (own.some((t) => t.flags & (ts.TypeFlags.Unknown | ts.TypeFlags.Any))) return; // looked at by who takes it
    const parts = expr.split(" | ");
    const isNull = (t: ts.Type): boolean => Boolean(t.flags & ts.TypeFlags.Null);
    if (by === "server" && own.some(isNull) !== parts.includes("null")) this.fault(at, own, expr);
    const some = own.filter((t) => !isNull(t));
    const wanted = parts.filter((p) => p !== "null");
    if (wanted.includes("any")) return;
    if (wanted.every((p) => p === "string" || p.startsWith("'") || p in contract.enums)) {
      this.compareWords(some, wanted, expr, at);
    } else if (wanted.length === 1 && ["integer", "number", "boolean"].includes(wanted[0]!)) {
      const flag = wanted[0] === "boolean" ? ts.TypeFlags.BooleanLike : ts.TypeFlags.NumberLike;
      if (!some.every((t) => t.flags & flag)) this.fault(at, own, expr);
    } else if (wanted.length === 1 && wanted[0]!.endsWith("[]")) {
      const items = some.map((t) =>
        this.checker.isArrayType(t) ? this.checker.getTypeArguments(t as ts.TypeReference)[0] : undefined,
      );
      this.compareEach(items, wanted[0]!.slice(0, -2), own, expr, at, by);
    } else if (wanted.length === 1 && wanted[0]!.startsWith("Record<string, ")) {
      const values = some.map((t) => t.getStringIndexType());
      this.compareEach(values, wanted[0]!.slice("Record<string, ".length, -1), own, expr, at, by);
    } else if (wanted.length === 1 && wanted[0]!.startsWith("lsp.")) {
      if (!some.every((t) => t.symbol.name === wanted[0]!.slice("lsp.".length))) this.fault(at, own, expr);
    } else {
      const objects = wanted.filter((p) => p in contract.types);
      this.compareFields(some, fieldsOf(objects.map((p) => contract.types[p]!)), at, by, objects.join());
    }
  }

  /** Objects: none has a field that there is not, together they have all that the server writes. */
  compareFields(own: readonly ts.Type[], wanted: Fields, at: string, by: By, name = at): void {
    const key = `${name} ${own.map((t) => this.checker.typeToString(t)).join()}`;
    if (this.seen.has(key)) return;
    this.seen.add(key);
    const has = new Set<string>();
    const fields = new Map<string, ts.Type[]>();
    for (const type of own) {
      for (const p of this.checker.getPropertiesOfType(type)) {
        const field = wanted.get(p.name);
        has.add(p.name);
        const of = this.checker.getTypeOfSymbol(p);
        if (of.flags & ts.TypeFlags.Never) continue; // Record<string, never>, and what a kind does not have
        if (!field) {
          this.faults.push(`${at}.${p.name}: the server knows no such field`);
          continue;
        }
        const optional = Boolean(p.flags & ts.SymbolFlags.Optional);
        if (by === "server" && own.length === 1 && !optional && field.optional)
          this.faults.push(`${at}.${p.name}: the server may leave it out`);
        if (by === "client" && optional && !field.optional) this.faults.push(`${at}.${p.name}: the server wants it`);
        fields.set(p.name, [...(fields.get(p.name) ?? []), of]);
      }
      for (const [field, { optional }] of wanted) {
        if (by === "client" && !optional && !this.checker.getPropertyOfType(type, field))
          this.faults.push(`${at}.${field}: is missing, and the server wants it`);
      }
    }
    for (const [field, types] of fields) this.compare(types, wanted.get(field)!.expr, `${at}.${field}`, by);
    for (const field of wanted.keys()) {
      if (by === "server" && !has.has(field)) this.faults.push(`${at}.${field}: is missing`);
    }
  }

  /** Elements of lists or of maps; undefined: something is neither. */
  private compareEach(
    items: (ts.Type | undefined)[],
    element: string,
    own: readonly ts.Type[],
    expr: string,
    at: string,
    by: By,
  ): void {
    const types = items.filter((t) => t !== undefined);
    if (types.length < items.length) this.fault(at, own, expr);
    else this.compare(types, element, `${at}[]`, by);
  }

  private compareWords(own: readonly ts.Type[], wanted: string[], expr: string, at: string): void {
    if (wanted.includes("string")) {
      if (!own.every((t) => t.flags & ts.TypeFlags.String)) this.fault(at, own, expr);
      return;
    }
    const words = new Set(wanted.flatMap((p) => (p.startsWith("'") ? [p.slice(1, -1)] : contract.enums[p]!)));
    const has = new Set(own.map((t) => (t.isStringLiteral() ? t.value : this.checker.typeToString(t))));
    for (const word of has) if (!words.has(word)) this.faults.push(`${at}: ${word} is none of ${expr}`);
    for (const word of words) if (!has.has(word)) this.faults.push(`${at}: "${word}" is missing`);
  }

  private fault(at: string, types: readonly ts.Type[], expr: string): void {
    this.faults.push(`${at} is ${types.map((t) => this.checker.typeToString(t)).join(" | ")}, and ${expr} on the wire`);
  }
}

/** What a value of the type may be. */
function each(type: ts.Type): ts.Type[] {
  return type.isUnion() ? type.types : [type];
}

/** The fields of what may be any of some objects: one is sure if it is so in each. */
function fieldsOf(objects: Record<string, string>[]): Fields {
  const all: Fields = new Map();
  for (const object of objects) {
    for (const [key, expr] of Object.entries(object)) {
      const name = key.replace(/\?$/, "");
      const other = all.get(name);
      const exprs = new Set([...(other?.expr.split(" | ") ?? []), ...expr.split(" | ")]);
      all.set(name, { expr: [...exprs].join(" | "), optional: key.endsWith("?") || (other?.optional ?? false) });
    }
  }
  for (const [name, field] of all) {
    field.optional ||= objects.some((o) => !(name in o));
  }
  return all;
}

function faultsOf(mirror: Mirror): string[] {
  const same = (name: string, known: Iterable<string>, wanted: Iterable<string>): void => {
    const sorted = (list: Iterable<string>): string[] => [...list].sort();
    assert.deepEqual(
      sorted(known),
      sorted(wanted),
      `${name} of src/protocol.ts names others than editors/contract.json`,
    );
  };
  const commands = mirror.rows("Commands");
  same("Commands", commands.keys(), Object.keys(contract.commands));
  for (const [name, row] of commands) {
    const { argument, result } = Object.fromEntries(mirror.properties(row)) as { argument: ts.Type; result: ts.Type };
    const of = contract.commands[name]!;
    mirror.compareFields(each(argument), fieldsOf([of.argument]), name, "client");
    mirror.compare([result], of.result, `${name} → `, "server");
  }
  const requests = mirror.rows("ServerRequests");
  same("ServerRequests", requests.keys(), Object.keys(contract.requests));
  for (const [name, row] of requests) {
    const { params, result } = Object.fromEntries(mirror.properties(row)) as { params: ts.Type; result: ts.Type };
    mirror.compare([params], contract.requests[name]!.params, name, "server");
    mirror.compare([result], contract.requests[name]!.result, `${name} → `, "client");
  }
  const notifications = mirror.rows("ServerNotifications");
  const fromServer = Object.entries(contract.notifications).filter(([, n]) => !n.fromClient);
  same(
    "ServerNotifications",
    notifications.keys(),
    fromServer.map(([name]) => name),
  );
  for (const [name, { params }] of fromServer) mirror.compare([notifications.get(name)!], params, name, "server");
  return mirror.faults;
}

test("protocol.ts is the wire as the server has it", () => {
  assert.deepEqual(faultsOf(new Mirror()), []);
});

test("what is not the wire is found", () => {
  const right = readFileSync("src/protocol.ts", "utf8");
  for (const [from, to, fault] of [
    [
      "accepted: boolean; reason?: string",
      "accepted: boolean; reason: string",
      "agentls.steer → .reason: the server may leave it out",
    ],
    ["accepted: boolean; reason?: string", "accepted: boolean", "agentls.steer → .reason: is missing"],
    ["accepted: boolean;", "accepted: string;", "agentls.steer → .accepted is string, and boolean on the wire"],
    [
      "runId: string; text: string",
      "runId: string; words: string",
      "agentls.steer.words: the server knows no such field",
    ],
    ["runId: string; text: string", "runId: string; text?: string", "agentls.steer.text: the server wants it"],
    ['"react" | "plan" | "team"', '"react" | "plan"', '"team" is missing'],
  ] as const) {
    assert.ok(right.includes(from), from);
    const faults = faultsOf(new Mirror(right.replace(from, to)));
    assert.ok(
      faults.some((f) => f.includes(fault)),
      `${to}: ${faults.join("\n")}`,
    );
  }
});
