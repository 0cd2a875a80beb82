const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** A simple model of the windows of one owner. */
export class WindowModel {
  private minute = { begin: -Infinity, used: 0 };
  private readonly days = new Map<number, number>();

  take(now: number, perMinute: number, perDay: number | undefined) {
    const isCurrent = now < this.minute.begin + MINUTE_MS;
    const minute = isCurrent ? this.minute : { begin: now, used: 0 };
    const today = Math.floor(now / DAY_MS);
    const usedToday = this.days.get(today) ?? 0;
    const isAdmitted = minute.used < perMinute && (perDay === undefined || usedToday < perDay);
    const counted = isAdmitted ? 1 : 0;
    // A window begins with an admitted request.
    if (isAdmitted) this.minute = { begin: minute.begin, used: minute.used + 1 };
    if (perDay !== undefined) this.days.set(today, usedToday + counted);
    return {
      verdict: isAdmitted ? 'admitted' : 'limited',
      minute: windowOf(perMinute, minute.used + counted, minute.begin + MINUTE_MS),
      day: perDay === undefined ? undefined : windowOf(perDay, usedToday + counted, (today + 1) * DAY_MS),
    };
  }
}

function windowOf(limit: number, used: number, resetAt: number) {
  return { limit, remaining: Math.max(0, limit - used), resetAt };
}
