/** What waits for a person, as the chat view shows it. Without vscode: the view's page uses it too. */
import type {
  ApprovalInfo,
  ApproveParams,
  Decision,
  ElicitParams,
  Field,
  PlanParams,
  PlanState,
  Preview,
  QuestionKind,
} from "../protocol.js";

/** A step of a plan that is asked about. */
export interface Step {
  id: string;
  title: string;
  task: string;
  /** Ids of steps that must be done before. */
  dependsOn: string[];
}

export interface Form {
  message: string;
  fields: Field[];
}

export interface Link {
  message: string;
  url: string;
  host: string;
  /** It was opened: a yes says that what it is for is done. */
  opened: boolean;
}

/** One question. Texts are empty where there is nothing to tell. */
export interface Question {
  id: string;
  /** Higher each time it is asked anew: an answer that cannot be is asked about once more under the same id. */
  seq: number;
  kind: QuestionKind;
  runId: string;
  session: string;
  server: string;
  tool: string;
  /** `step 2`, `reviewer 2`; empty: the run's own conversation. */
  part: string;
  description: string;
  reason: string;
  definitionChanged: boolean;
  /** What `session` and `always` allow from then on. */
  covers: string;
  /** The safe one first. */
  decisions: Decision[];
  arguments?: unknown;
  preview?: Preview;
  steps?: Step[];
  form?: Form;
  link?: Link;
  /** What was wrong with the answer before. */
  problem: string;
  /** What that answer said, less its secrets. */
  previous?: Record<string, unknown>;
  /** Milliseconds since 1970; then the server denies it. */
  deadline?: number;
}

/** `cancel`: neither yes nor no. `revise`: another plan is wanted. */
export type Choice = Decision | "cancel" | "revise";

/** What a person answers. */
export interface Answer {
  decision: Choice;
  /** Why not; of `revise`, what should be different. */
  reason?: string;
  /** The tool's, as edited; absent: as asked. */
  arguments?: Record<string, unknown>;
  /** What the question asks for: values by field, the steps of a plan, or that the answer of a model is to be seen. */
  content?: Record<string, unknown>;
}

type Asked = Omit<Question, "seq">;

const nothing = {
  runId: "",
  session: "",
  server: "",
  tool: "",
  part: "",
  description: "",
  reason: "",
  definitionChanged: false,
  covers: "",
  problem: "",
};

/** A question of agentls/approve. */
export function ofApprove(p: ApproveParams): Asked {
  return {
    ...nothing,
    id: p.id,
    kind: p.kind,
    runId: p.runId,
    session: p.session,
    server: p.server,
    tool: p.tool,
    part: p.part ?? "",
    description: p.description,
    reason: p.reason,
    definitionChanged: p.definitionChanged,
    covers: p.covers,
    decisions: p.decisions,
    arguments: p.arguments,
    problem: p.problem ?? "",
    ...(p.preview && { preview: p.preview }),
    ...(p.plan && { steps: stepsOf(p.plan) }),
    ...deadlineOf(p.deadline),
  };
}

/** A question of agentls/elicit. */
export function ofElicit(p: ElicitParams): Asked {
  const asked: Asked = {
    ...nothing,
    id: p.id,
    kind: p.kind,
    runId: p.runId,
    session: p.session,
    server: p.server,
    decisions: ["deny", "once"],
    problem: p.problem ?? "",
    ...deadlineOf(p.deadline),
  };
  if (p.mode === "url") {
    asked.link = { message: p.message, url: p.url ?? "", host: p.host ?? "", opened: p.opened === true };
  } else {
    asked.form = { message: p.message, fields: p.fields ?? [] };
  }
  return asked;
}

/** A question of agentls/plan. */
export function ofPlan(p: PlanParams): Asked {
  return {
    ...nothing,
    id: p.id,
    kind: "plan",
    runId: p.runId,
    session: p.session,
    tool: "submit_plan",
    decisions: ["deny", "once"],
    steps: stepsOf(p),
    problem: p.problem ?? "",
    ...deadlineOf(p.deadline),
  };
}

/** A question that the server still holds, by agentls.approvals. */
export function ofApproval(a: ApprovalInfo): Asked {
  if (a.elicit) return { ...ofElicit(a.elicit), ...deadlineOf(a.deadline) };
  return {
    ...nothing,
    id: a.id,
    kind: a.kind,
    runId: a.runId ?? "",
    session: a.session ?? "",
    server: a.server ?? "",
    tool: a.tool ?? "",
    part: a.part ?? "",
    description: a.description ?? "",
    reason: a.reason,
    definitionChanged: a.definitionChanged === true,
    covers: a.covers ?? "",
    decisions: a.decisions,
    arguments: a.arguments,
    ...(a.preview && { preview: a.preview }),
    ...(a.plan && { steps: stepsOf(a.plan) }),
    ...deadlineOf(a.deadline),
  };
}

function stepsOf(plan: PlanState): Step[] {
  return plan.steps.map((s) => ({ id: s.id, title: s.title, task: s.task ?? "", dependsOn: [...s.dependsOn] }));
}

function deadlineOf(text: string): { deadline?: number } {
  const at = Date.parse(text);
  return Number.isNaN(at) ? {} : { deadline: at };
}
