// The tables of settings and commands in README.md, as package.json has them.
const cell = (text) => text.replaceAll("|", "\\|").replaceAll("\n", " ");
const table = (head, rows) => [head, head.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");

const keyOf = (binding) =>
  binding
    ? binding.key
        .split(" ")
        .map(
          (chord) =>
            `\`${chord
              .split("+")
              .map((k) => k[0].toUpperCase() + k.slice(1))
              .join("+")}\``,
        )
        .join(" ")
    : "";

/** The tables by the name of their place. */
export function tables({ contributes }) {
  const groups = [contributes.configuration].flat();
  const settings = groups.flatMap((group) => Object.entries(group.properties));
  const hidden = new Set(
    (contributes.menus.commandPalette ?? []).filter(({ when }) => when === "false").map(({ command }) => command),
  );
  const inPalette = contributes.commands.filter(({ command }) => !hidden.has(command));
  return {
    settings: table(
      ["setting", "what it does"],
      settings.map(([name, s]) => [`\`${name}\``, cell(s.markdownDescription ?? s.description)]),
    ),
    commands: table(
      ["command", "keys"],
      inPalette.map(({ command, title, category }) => [
        `${category}: ${title}`,
        keyOf(contributes.keybindings.find((b) => b.command === command && b.args === undefined)),
      ]),
    ),
  };
}

/** The README with its tables as package.json has them. */
export function filled(readme, manifest) {
  for (const [name, text] of Object.entries(tables(manifest))) {
    const place = new RegExp(`(<!-- ${name} -->\n)[^]*?(\n<!-- end -->)`);
    if (!place.test(readme)) throw new Error(`README.md has no place for the ${name}: <!-- ${name} --> … <!-- end -->`);
    readme = readme.replace(place, (_, before, after) => `${before}\n${text}\n${after}`);
  }
  return readme;
}
