/** The wire, as in CONTRACT.md §4, §5 and §7: mirrors lsp/command.go and its neighbours. Nothing else knows these shapes. */

export type Mode = "react" | "plan" | "team";
export type Action = "fix" | "explain" | "rewrite" | "test" | "document";
export type RunStatus = "queued" | "running" | "waiting" | "completed" | "stopped" | "failed" | "cancelled";
/** How a call of a tool ended. `rejected`: by a person; `denied`: by a rule; `unknown`: it may have acted. */
export type Outcome = "completed" | "failed" | "rejected" | "denied" | "cancelled" | "unknown";
export type ToolState = "pending" | "running" | Outcome;
export type Decision = "once" | "session" | "always" | "deny";
export type PlanDecision = "run" | "revise" | "stop";
export type StepStatus = "pending" | "running" | "completed" | "failed" | "skipped" | "cancelled";
export type ErrorKind = "provider" | "auth" | "rateLimit" | "context" | "network" | "config" | "internal";
export type QuestionKind = "tool" | "plan" | "elicit" | "sample" | "trust" | "input";
export type ServerStatus =
  "disabled" | "untrusted" | "starting" | "ready" | "needsLogin" | "restarting" | "failed" | "stopped";

/** LSP's, of UTF-16 code units. */
export interface Position {
  line: number;
  character: number;
}
export interface Range {
  start: Position;
  end: Position;
}

/** What is attached to a prompt; `diagnostics` as LSP has them. */
export interface DocumentArgument {
  uri: string;
  range?: Range;
  version?: number;
  diagnostics?: unknown[];
}

// Runs

export interface AskArgument {
  prompt?: string;
  mode?: Mode;
  session?: string;
  document?: DocumentArgument;
  action?: Action;
  detached?: boolean;
  runId?: string;
}

export interface SendArgument {
  uri: string;
  position?: Position;
  mode?: Mode;
  detached?: boolean;
  stream?: boolean;
}

export interface Usage {
  promptTokens: number;
  completionTokens: number;
  totalTokens: number;
  cachedTokens?: number;
}

export interface MentionResult {
  server: string;
  uri: string;
  status: "expanded" | "truncated" | "failed" | "skipped" | "unknown";
  error?: string;
}

export interface ToolCallResult {
  id: string;
  tool: string;
  server?: string;
  status: Outcome;
  durationMs: number;
}

export interface PlanStep {
  id: string;
  title: string;
  /** Empty where only the state is told. */
  task?: string;
  dependsOn: string[];
  status?: StepStatus;
  note?: string;
}

export interface PlanState {
  plan: number;
  steps: PlanStep[];
}

/** A plan that waits for a person. */
export interface AskedPlan {
  plan: number;
  steps: { id: string; title: string; task: string; dependsOn: string[] }[];
}

/** `saved`: the disk has it. */
export interface ChangedFile {
  uri: string;
  saved: boolean;
}

export interface RunResult {
  runId: string;
  session: string;
  /** `queued` or `running` where the command was detached; then nothing else is set. */
  status: RunStatus;
  text?: string;
  steps?: number;
  stopReason?: string;
  note?: string;
  mentions?: MentionResult[];
  toolCalls?: ToolCallResult[];
  changed?: ChangedFile[];
  untracked?: string[];
  usage?: Usage;
  plan?: PlanStep[];
}

/** `data` of the error that a run ended with. */
export interface RunFailure {
  runId: string;
  session: string;
  kind?: ErrorKind;
  retryable?: boolean;
}

export interface RunInfo {
  runId: string;
  session: string;
  mode: Mode;
  status: RunStatus;
  startedAt: string;
  prompt: string;
  /** URIs of what an ended run changed, as far as that was not undone. */
  changed?: string[];
}

export interface ToolCallEvent {
  id: string;
  tool: string;
  server?: string;
  part?: string;
  state: ToolState;
  arguments?: unknown;
  message?: string;
}

export interface ApprovalEvent {
  id: string;
  kind: QuestionKind;
  server?: string;
  tool: string;
  state: "open" | "resolved";
  decision?: Decision;
}

export interface Failure {
  message: string;
  kind: ErrorKind;
  retryable: boolean;
}

interface EventOf<K extends string> {
  runId: string;
  session: string;
  /** From 1, without gaps. */
  seq: number;
  kind: K;
}

/** The notification agentls/runEvent. */
export type RunEvent =
  | EventOf<"queued">
  | EventOf<"started">
  | (EventOf<"mention"> & { mention: MentionResult })
  | (EventOf<"text" | "reasoning"> & { delta: string })
  | (EventOf<"plan"> & { plan: PlanState })
  | (EventOf<"toolCall"> & { toolCall: ToolCallEvent })
  | (EventOf<"approval"> & { approval: ApprovalEvent })
  | (EventOf<"usage"> & { usage: Usage })
  | (EventOf<"finished"> & {
      status: RunStatus;
      stopReason?: string;
      error?: Failure;
      changed?: { uri: string; saved: boolean }[];
    });

// Questions

/** What the call would change of a file. */
export interface Preview {
  uri: string;
  path: string;
  added: number;
  removed: number;
  /** Unified. */
  diff: string;
}

/** The request agentls/approve. */
export interface ApproveParams {
  id: string;
  kind: QuestionKind;
  runId: string;
  session: string;
  server: string;
  tool: string;
  description: string;
  arguments: unknown;
  reason: string;
  definitionChanged: boolean;
  /** What `session` and `always` allow from then on; empty: they count as `once`. */
  covers: string;
  /** Those that make sense, the safe one first. */
  decisions: Decision[];
  preview?: Preview;
  part?: string;
  plan?: AskedPlan;
  problem?: string;
  /** RFC 3339; then it is denied. */
  deadline: string;
}

/** The answer to agentls/approve and agentls/elicit; null dismisses. */
export interface ApproveResult {
  decision: Decision;
  reason?: string;
  arguments?: unknown;
  content?: unknown;
}

export type FieldKind = "string" | "number" | "integer" | "boolean" | "enum" | "enums" | "list";

export interface Field {
  name: string;
  title?: string;
  description?: string;
  kind: FieldKind;
  hint?: string;
  required: boolean;
  secret: boolean;
  options?: { value: unknown; title: string }[];
  default?: unknown;
}

/** The request agentls/elicit. */
export interface ElicitParams {
  id: string;
  kind: "elicit" | "input";
  runId: string;
  session: string;
  server: string;
  message: string;
  mode: "form" | "url";
  requestedSchema?: unknown;
  fields?: Field[];
  url?: string;
  host?: string;
  opened?: boolean;
  problem?: string;
  deadline: string;
}

/** The request agentls/plan. */
export interface PlanParams extends AskedPlan {
  id: string;
  runId: string;
  session: string;
  problem?: string;
  deadline: string;
}

export interface PlanResult {
  decision: PlanDecision;
  steps?: PlanStep[];
  note?: string;
}

/** A line of agentls.approvals. */
export interface ApprovalInfo {
  id: string;
  kind: QuestionKind;
  runId?: string;
  server?: string;
  tool?: string;
  arguments?: unknown;
  reason: string;
  /** RFC 3339. */
  deadline: string;
  covers?: string;
  decisions: Decision[];
  preview?: Preview;
  part?: string;
  plan?: AskedPlan;
  session?: string;
  description?: string;
  definitionChanged?: boolean;
  elicit?: ElicitParams;
}

// Sessions

export interface SessionInfo {
  session: string;
  folder: string;
  /** Empty: nothing was asked. */
  title: string;
  createdAt: string;
  updatedAt: string;
  turns: number;
  status?: RunStatus | "interrupted";
}

export interface SessionMessage {
  role: "system" | "user" | "assistant" | "tool";
  text: string;
  toolCalls?: { id: string; name: string; arguments: unknown }[];
  toolCallId?: string;
  runId?: string;
  images?: number;
  time: string;
}

export interface SessionText extends SessionInfo {
  messages: SessionMessage[];
  omitted?: number;
  note?: string;
}

// MCP

export interface ServerInfo {
  name: string;
  mention: string;
  status: ServerStatus;
  error?: string;
  needs?: string;
  protocol?: string;
  /** Counts are null until fetched. */
  tools: number | null;
  resources: number | null;
  prompts: number | null;
  trusted: boolean;
  source: string;
  fingerprint: string;
  command?: string;
  args?: string[];
  url?: string;
  env?: string[];
  headers?: string[];
  reads?: string[];
  /** All of a project's server that trust is asked for. */
  definition?: ServerDefinition;
}

/** A project's server as its file has it. */
export interface ServerDefinition {
  command?: string;
  args?: string[];
  cwd?: string;
  env?: Record<string, string>;
  envFile?: string;
  url?: string;
  headers?: Record<string, string>;
}

export interface LoginResult extends ServerInfo {
  note: string;
  loginUrl?: string;
}

export interface Resource {
  uri: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
  size?: number;
  stale: boolean;
  /** What reads it in a prompt. */
  mention: string;
}

export interface ResourceTemplate {
  uriTemplate: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
  /** In their order; without those that are required there is no URI. */
  variables: { name: string; required: boolean }[];
}

/** What agentls.mcp.complete is about: an argument of a prompt, or a variable of a template. */
export type CompleteArgument = ServerArgument & {
  argument: string;
  value?: string;
  /** The others that are given. */
  arguments?: Record<string, string>;
} & ({ prompt: string } | { template: string });

export interface Completion {
  values: string[];
  /** There are more, or the server did not answer in time. */
  more: boolean;
  error?: string;
  /** What a template says with these values, once all that is required is there. */
  uri?: string;
  mention?: string;
}

export interface Prompt {
  name: string;
  title?: string;
  description?: string;
  arguments?: { name: string; title?: string; description?: string; required?: boolean }[];
}

export interface Tool {
  name: string;
  title?: string;
  model?: string;
  description: string;
  schema: unknown;
}

interface ListArgument {
  server: string;
  query?: string;
  limit?: number;
  cursor?: string;
}

interface Page {
  stale: boolean;
  nextCursor?: string;
}

export interface Content {
  uri: string;
  mimeType: string;
  text?: string;
  /** Base64. */
  blob?: string;
}

export interface PromptContent {
  type: string;
  name?: string;
  uri?: string;
  mimeType?: string;
  text?: string;
  blob?: string;
  title?: string;
  description?: string;
  size?: number;
}

export interface PromptMessages {
  description?: string;
  messages: { role: string; contents: PromptContent[] }[];
}

export interface UsePromptArgument {
  server: string;
  name: string;
  arguments?: Record<string, string>;
  session?: string;
  run?: boolean;
  /** Of the run. */
  runId?: string;
}

export interface LogLine {
  time: string;
  source: "stderr" | "log" | "agentls";
  level: string;
  text: string;
}

export interface ServerLog {
  name: string;
  status: ServerStatus;
  error?: string;
  lines: LogLine[];
}

// The rest

export interface ModelInfo {
  provider: string;
  model?: string;
  choices?: {
    provider: string;
    models?: string[];
    /** Why it does not list them, and what to do. */
    error?: string;
  }[];
}

export interface Found {
  provider: string;
  title: string;
  baseURL: string;
  models: string[];
  model?: string;
  keyVariable?: string;
  inForce?: boolean;
  error?: string;
}

/** A well-known provider; `keyVariables` are where its key is looked for. */
export interface Preset {
  provider: string;
  title: string;
  baseURL?: string;
  keyVariables?: string[];
}

export interface SetupArgument {
  provider?: string;
  baseURL?: string;
  model?: string;
  keyVariable?: string;
}

/** A well-known provider. */
export interface Preset {
  provider: string;
  title: string;
  /** None: each account has its own. */
  baseURL?: string;
  /** Where its key is looked for; none: it runs on this machine and wants none. */
  keyVariables?: string[];
}

/** With `found` where nothing was given to agentls.setup or a model is to be chosen, else what was written. */
export type SetupResult =
  | { found: Found[]; presets: Preset[]; config: string }
  | {
      provider: string;
      model: string;
      config: string;
      inForce: { provider: string; model?: string; error?: string };
      warning?: string;
    };

export interface UndoResult {
  restored: string[];
  refused: { uri: string; reason: string }[];
  untracked: string[];
}

export interface AuditLine {
  time: string;
  runId?: string;
  session?: string;
  server?: string;
  tool: string;
  arguments?: unknown;
  outcome: Outcome;
  decidedBy: string;
  reason?: string;
  durationMs: number;
}

type Nothing = Record<string, never>;

interface ServerArgument {
  server: string;
}

interface Row<A, R> {
  argument: A;
  result: R;
}

/** The commands of CONTRACT §4: what each takes and answers. */
export interface Commands {
  "agentls.approvals": Row<Nothing, ApprovalInfo[]>;
  "agentls.approve": Row<{ id: string } & ApproveResult, { resolved: boolean }>;
  "agentls.ask": Row<AskArgument, RunResult>;
  "agentls.audit": Row<{ limit?: number; tool?: string; runId?: string }, AuditLine[]>;
  "agentls.cancel": Row<{ runId?: string }, { cancelled: string[] }>;
  "agentls.mcp.complete": Row<CompleteArgument, Completion>;
  "agentls.mcp.disable": Row<ServerArgument, ServerInfo>;
  "agentls.mcp.enable": Row<ServerArgument, ServerInfo>;
  "agentls.mcp.login": Row<ServerArgument & { redirectUrl?: string; detached?: boolean }, LoginResult>;
  "agentls.mcp.logout": Row<ServerArgument & { detached?: boolean }, LoginResult>;
  "agentls.mcp.logs": Row<ServerArgument & { limit?: number }, ServerLog>;
  "agentls.mcp.prompts": Row<ListArgument, Page & { prompts: Prompt[] }>;
  "agentls.mcp.read": Row<ServerArgument & { uri: string }, { contents: Content[]; stale?: string }>;
  "agentls.mcp.resources": Row<ListArgument, Page & { resources: Resource[]; templates: ResourceTemplate[] }>;
  "agentls.mcp.restart": Row<ServerArgument, ServerInfo>;
  "agentls.mcp.servers": Row<Nothing, ServerInfo[]>;
  "agentls.mcp.tools": Row<ListArgument, Page & { tools: Tool[] }>;
  "agentls.mcp.trust": Row<ServerArgument & { trust: boolean; fingerprint?: string }, ServerInfo>;
  "agentls.mcp.usePrompt": Row<UsePromptArgument, PromptMessages | RunResult>;
  "agentls.model": Row<{ provider?: string; model?: string; choices?: boolean }, ModelInfo>;
  "agentls.new": Row<{ document?: DocumentArgument; mode?: Mode }, { uri: string; session: string }>;
  "agentls.runs": Row<Nothing, RunInfo[]>;
  "agentls.send": Row<SendArgument, RunResult>;
  "agentls.session.clear": Row<{ session: string }, { session: string }>;
  "agentls.session.delete": Row<{ session: string }, { session: string }>;
  "agentls.session.fork": Row<{ session: string }, { session: string }>;
  "agentls.session.list": Row<{ session?: string }, SessionInfo[]>;
  "agentls.session.show": Row<{ session: string }, SessionText>;
  "agentls.setup": Row<SetupArgument, SetupResult>;
  "agentls.steer": Row<{ runId: string; text: string }, { accepted: boolean; reason?: string }>;
  "agentls.undo": Row<{ runId: string }, UndoResult>;
}

/** Those that start a run. */
export type RunCommand = "agentls.ask" | "agentls.send" | "agentls.mcp.usePrompt";

/** LSP's codes of a cancelled and of a failed request. */
export const requestCancelled = -32800;
export const requestFailed = -32803;

/** Notifications of the server. */
export interface ServerNotifications {
  /** What the next run uses. */
  "agentls/didChangeModel": { provider: string; model?: string; error?: string };
  /** A state, a list or a resource of an MCP server is another one: whoever shows them asks anew. */
  "agentls/didChangeServers": Record<string, never>;
  "agentls/runEvent": RunEvent;
}

/** Requests of the server. An answer of null dismisses a question. */
export interface ServerRequests {
  "agentls/approve": { params: ApproveParams; result: ApproveResult | null };
  "agentls/diagnostics": {
    params: { uri?: string };
    result: { uri: string; version?: number; diagnostics: unknown[] }[];
  };
  "agentls/elicit": { params: ElicitParams; result: ApproveResult | null };
  "agentls/plan": { params: PlanParams; result: PlanResult | null };
  "agentls/save": { params: { uris: string[] }; result: unknown };
}
