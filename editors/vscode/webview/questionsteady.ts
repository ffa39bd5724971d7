/** Milliseconds that something must have stood where it is before a click on it can be meant for it. */
export const steadyAfter = 500;

const interval = 100;

/**
 * Knows whether an element has been seen in one place for long enough. What appears or moves under a pointer gets
 * clicks that were meant for something else.
 */
export class Steady {
  private since = performance.now();
  private place = "";
  private steady = false;
  private readonly timer: number;

  constructor(
    private readonly element: HTMLElement,
    private readonly changed: (steady: boolean) => void,
  ) {
    changed(false);
    this.timer = window.setInterval(() => this.look(), interval);
  }

  /** Looks, so that what moved since the last look counts too. */
  get is(): boolean {
    this.look();
    return this.steady;
  }

  dispose(): void {
    window.clearInterval(this.timer);
  }

  private look(): void {
    const now = performance.now();
    const { x, y, width, height } = this.element.getBoundingClientRect();
    const place = document.visibilityState === "visible" ? [x, y, width, height].join() : "";
    if (place !== this.place || place === "") {
      this.place = place;
      this.since = now;
    }
    const steady = now - this.since >= steadyAfter;
    if (steady !== this.steady) {
      this.steady = steady;
      this.changed(steady);
    }
  }
}
