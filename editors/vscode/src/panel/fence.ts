/** What fences call languages that VS Code has under another id. */
const ids: Record<string, string> = {
  "c#": "csharp", "c++": "cpp", bash: "shellscript", cs: "csharp", golang: "go", js: "javascript", jsx: "javascriptreact",
  md: "markdown", ps1: "powershell", py: "python", rb: "ruby", rs: "rust", sh: "shellscript", shell: "shellscript",
  ts: "typescript", tsx: "typescriptreact", yml: "yaml", zsh: "shellscript",
}; // prettier-ignore

/** The language's id, if VS Code knows it. Without vscode. */
export function languageOf(fence: string, known: readonly string[]): string | undefined {
  const name = fence.toLowerCase();
  const id = Object.hasOwn(ids, name) ? ids[name] : name;
  return id !== undefined && known.includes(id) ? id : undefined;
}
