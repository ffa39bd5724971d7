import assert from "node:assert/strict";
import test from "node:test";
import type { Resource } from "../../src/protocol.js";
import { type ListResources, ResourceSearch } from "../../src/servers/resourcesearch.js";

const resource = (n: number): Resource => ({ uri: `x://${n}`, name: String(n), stale: false, mention: `@s:x://${n}` });

/** A server with so many resources, and a list that waits until it is let go. */
function pages(total: number) {
  const asked: { server: string; query: string; cursor?: string }[] = [];
  const list: ListResources = (argument) => {
    asked.push(argument);
    if (argument.server === "broken") return Promise.reject(new Error("it is gone"));
    const start = Number(argument.cursor ?? 0);
    const end = Math.min(start + argument.limit, total);
    return Promise.resolve({
      resources: Array.from({ length: end - start }, (_, i) => resource(start + i)),
      templates: start === 0 ? [{ uriTemplate: "x://{n}", name: "t", variables: [{ name: "n", required: true }] }] : [],
      stale: false,
      ...(end < total ? { nextCursor: String(end) } : {}),
    });
  };
  return { asked, list };
}

const words = (error: unknown) => (error as Error).message;

test("pages follow each other until there is none", async () => {
  const { list } = pages(5);
  const search = new ResourceSearch(["a"], 2, list, words);
  assert.equal(await search.search("q"), true);
  assert.equal(search.found[0]!.resources.length, 2);
  assert.equal(await search.more("a"), true);
  assert.equal(await search.more("a"), true);
  assert.deepEqual(
    search.found[0]!.resources.map((r) => r.name),
    ["0", "1", "2", "3", "4"],
  );
  assert.equal(search.found[0]!.templates.length, 1);
  assert.equal(await search.more("a"), false);
});

test("a server that fails leaves the others", async () => {
  const { list } = pages(1);
  const search = new ResourceSearch(["broken", "a"], 2, list, words);
  await search.search("");
  assert.deepEqual(
    search.found.map((one) => [one.server, one.resources.length, one.error]),
    [
      ["broken", 0, "it is gone"],
      ["a", 1, undefined],
    ],
  );
});

test("what comes after a newer query is dropped", async () => {
  const held: (() => void)[] = [];
  const { list } = pages(3);
  const slow: ListResources = async (argument) => {
    await new Promise<void>((resolve) => held.push(resolve));
    return await list(argument);
  };
  const search = new ResourceSearch(["a"], 1, slow, words);
  const old = search.search("old");
  const newer = search.search("new");
  held[1]!();
  assert.equal(await newer, true);
  held[0]!();
  assert.equal(await old, false);
  assert.equal(search.query, "new");
  assert.equal(search.found[0]!.resources.length, 1);

  const more = search.more("a");
  const last = search.search("last");
  held[3]!();
  await last;
  held[2]!();
  assert.equal(await more, false);
  assert.equal(search.found[0]!.resources.length, 1);
});
