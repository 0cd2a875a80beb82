/** A request with its response, as a client saw them. */
export interface Observed<State> {
  /** Moments of one clock: a request that began after the end of another one was served after it. */
  readonly begin: number;
  readonly end: number;
  /** Request and response, for a report. */
  readonly text: string;
  /** Returns the state after the request, or undefined if the response does not follow from `state`. */
  readonly apply: (state: State) => State | undefined;
}

/**
 * Returns true if some order of the requests explains every response (linearizability: Wing and Gong, 1993). Each
 * request takes effect at one moment between its begin and its end.
 */
export function isLinearizable<State>(history: readonly Observed<State>[], initial: State): boolean {
  const failed = new Set<string>();

  function explain(pending: readonly Observed<State>[], state: State): boolean {
    if (pending.length === 0) return true;
    const key = `${pending.map(({ begin }) => begin).join()} ${JSON.stringify(state)}`;
    if (failed.has(key)) return false;
    const firstEnd = Math.min(...pending.map(({ end }) => end));
    const next = pending
      .filter(({ begin }) => begin < firstEnd)
      .map((observed) => ({ observed, after: observed.apply(state) }))
      .filter((each): each is typeof each & { after: State } => each.after !== undefined);
    // A request without effect that can be served now need not wait for another one.
    const idle = next.find(({ after }) => after === state);
    const found = (idle ? [idle] : next).some(({ observed, after }) =>
      explain(
        pending.filter((other) => other !== observed),
        after,
      ),
    );
    if (!found) failed.add(key);
    return found;
  }

  return explain(
    history.toSorted((one, other) => one.begin - other.begin),
    initial,
  );
}
