/** A search over the resources of several MCP servers, page by page. Without vscode. */
import type { Resource, ResourceTemplate } from "../protocol.js";

/** What one server answers to a search. */
export interface ResourcePage {
  resources: Resource[];
  templates: ResourceTemplate[];
  stale: boolean;
  nextCursor?: string;
}

/** One page of one server: agentls.mcp.resources. */
export type ListResources = (argument: {
  server: string;
  query: string;
  limit: number;
  cursor?: string;
}) => Promise<ResourcePage>;

/** What was found at one server. */
export interface Found {
  server: string;
  resources: Resource[];
  templates: ResourceTemplate[];
  stale: boolean;
  /** There is more of it. */
  cursor?: string;
  /** Why nothing could be listed. */
  error?: string;
}

/** Keeps what was found for the last query. An answer that comes after a newer query is dropped. */
export class ResourceSearch {
  found: Found[] = [];
  query = "";
  #round = 0;

  constructor(
    readonly servers: readonly string[],
    readonly limit: number,
    readonly list: ListResources,
    readonly words: (error: unknown) => string,
  ) {}

  /** Searches all servers at once. false: a newer search took its place. */
  async search(query: string): Promise<boolean> {
    const round = ++this.#round;
    this.query = query;
    const found = await Promise.all(
      this.servers.map(async (server): Promise<Found> => {
        try {
          return foundBy(server, await this.list({ server, query, limit: this.limit }));
        } catch (error) {
          return { server, resources: [], templates: [], stale: true, error: this.words(error) };
        }
      }),
    );
    if (round !== this.#round) return false;
    this.found = found;
    return true;
  }

  /** Brings the next page of a server. false: a search took its place, or there is none. */
  async more(server: string): Promise<boolean> {
    const round = this.#round;
    const old = this.found.find((one) => one.server === server);
    if (old?.cursor === undefined) return false;
    const { query, limit } = this;
    const page = await this.list({ server, query, limit, cursor: old.cursor });
    if (round !== this.#round || this.found.find((one) => one.server === server) !== old) return false;
    const next = foundBy(server, page);
    const merged = { ...next, resources: [...old.resources, ...next.resources], templates: old.templates };
    this.found = this.found.map((one) => (one === old ? merged : one));
    return true;
  }
}

function foundBy(server: string, page: ResourcePage): Found {
  const { resources, templates, stale, nextCursor } = page;
  return { server, resources, templates, stale, ...(nextCursor === undefined ? {} : { cursor: nextCursor }) };
}
