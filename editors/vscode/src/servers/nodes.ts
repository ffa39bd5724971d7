/** What the tree of MCP servers shows. Without vscode. */
import type { Prompt, Resource, ResourceTemplate, ServerInfo, Tool } from "../protocol.js";
import { contextOf, describe, iconOf, tooltipOf } from "./standing.js";
import { count, oneLine } from "../text.js";

export type ListKind = "tools" | "resources" | "prompts";

export type Node =
  | { kind: "server"; info: ServerInfo }
  | { kind: "list"; list: ListKind; server: string; count: number }
  | { kind: "tool"; server: string; tool: Tool }
  | { kind: "resource"; server: string; resource: Resource }
  | { kind: "template"; server: string; template: ResourceTemplate }
  | { kind: "prompt"; server: string; prompt: Prompt }
  | { kind: "more"; list: ListKind; server: string; shown: number; total: number }
  | { kind: "note"; server: string; id: string; text: string };

/** How a node looks. */
export interface Look {
  /** Among all nodes, and the same after a change. */
  id: string;
  label: string;
  description?: string;
  tooltip: string;
  icon?: string;
  color?: string;
  context: string;
  expands: boolean;
}

const lists: Record<ListKind, { title: string; icon: string }> = {
  prompts: { title: "Prompts", icon: "symbol-snippet" },
  resources: { title: "Resources", icon: "references" },
  tools: { title: "Tools", icon: "tools" },
};

/** The lists of a server that hold something. */
export function listsOf(info: ServerInfo): Node[] {
  const kinds: ListKind[] = ["tools", "resources", "prompts"];
  return kinds.flatMap((list) => {
    const n = info[list];
    return n === null || n === 0 ? [] : [{ kind: "list", list, server: info.name, count: n } as const];
  });
}

export function lookOf(node: Node): Look {
  switch (node.kind) {
    case "server":
      return serverLook(node.info);
    case "list":
      return {
        id: idOf(node.server, node.list),
        label: lists[node.list].title,
        description: node.count.toLocaleString("en"),
        tooltip: count(node.count, node.list.slice(0, -1)),
        icon: lists[node.list].icon,
        context: node.list,
        expands: true,
      };
    case "tool":
      return leaf(node.server, "tool", node.tool.name, "wrench", node.tool, "");
    case "resource":
      return resourceLook(node.server, node.resource);
    case "template": {
      const { template } = node;
      return leaf(node.server, "template", template.uriTemplate, "symbol-variable", template, template.uriTemplate);
    }
    case "prompt":
      return leaf(node.server, "prompt", node.prompt.name, "symbol-snippet", node.prompt, argumentsOf(node.prompt));
    case "more":
      return {
        id: idOf(node.server, node.list, "more"),
        label: `Show more… (${node.shown.toLocaleString("en")} of ${node.total.toLocaleString("en")})`,
        tooltip: "",
        icon: "more",
        context: "more",
        expands: false,
      };
    case "note":
      return {
        id: idOf(node.server, "note", node.id),
        label: oneLine(node.text, 200),
        tooltip: oneLine(node.text, 1000),
        icon: "info",
        context: "note",
        expands: false,
      };
  }
}

function serverLook(info: ServerInfo): Look {
  return {
    id: idOf(info.name),
    label: oneLine(info.name, 100),
    description: describe(info),
    tooltip: tooltipOf(info),
    ...iconOf(info),
    context: contextOf(info),
    expands: listsOf(info).length > 0,
  };
}

function resourceLook(server: string, resource: Resource): Look {
  const look = leaf(server, "resource", resource.uri, "file", resource, resource.uri);
  if (resource.stale) {
    look.description = `changed · ${look.description ?? ""}`;
    look.tooltip += "\nIt changed since it was last read.";
    look.icon = "sync";
  }
  return look;
}

/** What has a title, a name and a description. key tells it from its like. */
function leaf(
  server: string,
  kind: string,
  key: string,
  icon: string,
  of: { name: string; title?: string; description?: string; mimeType?: string },
  beside: string,
): Look {
  const title = oneLine(of.title ?? "", 100) || oneLine(of.name, 100) || oneLine(key, 100);
  const name = oneLine(of.name, 200);
  const lines = [name === title ? "" : name, beside, of.description ?? "", of.mimeType ?? ""];
  const description = oneLine(beside || (name === title ? "" : name), 200);
  return {
    id: idOf(server, kind, key),
    label: title,
    ...(description === "" ? {} : { description }),
    tooltip: [title, ...lines.map((line) => oneLine(line, 1000)).filter((line) => line !== "" && line !== title)].join(
      "\n",
    ),
    icon,
    context: kind,
    expands: false,
  };
}

function argumentsOf(prompt: Prompt): string {
  return (prompt.arguments ?? []).map((a) => (a.required === true ? a.name : `${a.name}?`)).join(", ");
}

function idOf(...parts: string[]): string {
  return parts.map(encodeURIComponent).join("/");
}
