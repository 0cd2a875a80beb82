/** The service's source of time. Specs provide one that they control. */
export abstract class Clock {
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  abstract now(): number;
}

export class SystemClock extends Clock {
  override now = Date.now;
}
