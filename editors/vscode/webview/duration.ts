/** Milliseconds for a person. */
export function words(ms: number): string {
  if (ms < 1000) {
    return `${String(Math.max(0, Math.round(ms)))} ms`;
  }
  if (ms < 10_000) {
    return `${(ms / 1000).toFixed(1)} s`;
  }
  const s = Math.round(ms / 1000);
  return s < 60 ? `${String(s)} s` : `${String(Math.floor(s / 60))} min ${String(s % 60)} s`;
}

const ticking = new Map<HTMLElement, number>();
let timer: ReturnType<typeof setInterval> | undefined;

/** Shows how long something took; or takes, counted on as long as the element is in the document. */
export function showDuration(e: HTMLElement, startedAt: number | undefined, durationMs: number | undefined): void {
  ticking.delete(e);
  if (durationMs !== undefined) {
    e.textContent = words(durationMs);
  } else if (startedAt !== undefined) {
    ticking.set(e, startedAt);
    tick(e, startedAt);
    timer ??= setInterval(tickAll, 1000);
  } else {
    e.textContent = "";
  }
}

function tickAll(): void {
  for (const [e, startedAt] of ticking) {
    if (e.isConnected) {
      tick(e, startedAt);
    } else {
      ticking.delete(e);
    }
  }
  if (ticking.size === 0) {
    clearInterval(timer);
    timer = undefined;
  }
}

function tick(e: HTMLElement, startedAt: number): void {
  const seconds = Math.floor((Date.now() - startedAt) / 1000);
  e.textContent = seconds < 1 ? "" : words(seconds * 1000).replace(".0", "");
}
