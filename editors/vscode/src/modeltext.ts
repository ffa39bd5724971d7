/** The models that can be chosen, as rows of a list. Without vscode. */
import type { ModelInfo } from "./protocol.js";
import { label } from "./text.js";

export interface ModelChoice {
  provider: string;
  model?: string;
  /** The provider lists nothing: it is to be set up. */
  setUp?: boolean;
}

export interface ModelRow {
  label: string;
  description?: string;
  detail?: string;
  /** None: a heading. */
  choice?: ModelChoice;
}

/** The models under their providers, the provider in force first. */
export function modelRows(info: ModelInfo): ModelRow[] {
  const choices = [...(info.choices ?? [])].sort(
    (a, b) => Number(b.provider === info.provider) - Number(a.provider === info.provider),
  );
  return choices.flatMap(({ provider, models, error }) => {
    const rows: ModelRow[] = [{ label: label(provider) }];
    const inForce = provider === info.provider;
    for (const model of models ?? []) {
      const isIt = inForce && model === info.model;
      rows.push({
        label: `${isIt ? "$(check) " : ""}${label(model)}`,
        ...(isIt ? { description: "in force" } : {}),
        choice: { provider, model },
      });
    }
    if (error !== undefined && error !== "") {
      rows.push({
        label: "$(warning) It does not list its models",
        detail: label(error),
        choice: { provider, setUp: true },
      });
    } else if ((models ?? []).length === 0) {
      rows.push({
        label: `${inForce ? "$(check) " : ""}${label(provider)}`,
        description: inForce ? "in force, without models" : "without models",
        choice: { provider },
      });
    }
    return rows;
  });
}
