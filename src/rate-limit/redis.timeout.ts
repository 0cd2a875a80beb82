const SLICES = 10;

/**
 * Rejects if a response does not arrive in time.
 *
 * The wait is counted in slices, each once, however late its timer fires. After the last slice the process reads what has
 * arrived. So a busy process does not mistake its own delay for a delay of Redis.
 */
export function withTimeout<T>(limitMs: number, response: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout;
    const giveUp = (): void => reject(new Error(`no response within ${limitMs} ms`));
    const wait = (slices: number): void => {
      const next = (): unknown => (slices > 1 ? wait(slices - 1) : setImmediate(giveUp));
      timer = setTimeout(next, limitMs / SLICES);
    };
    wait(SLICES);
    response.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
