const BAR_WIDTH = 40;

/**
 * While `work` runs, one line of a terminal shows its share; other streams show nothing.
 *
 * @param work gets a function for the share that is done, from 0 to 1
 */
export async function withProgressBar<T>(
  work: (show: (share: number) => void) => Promise<T>,
  screen: Pick<NodeJS.WriteStream, 'isTTY' | 'write'> = process.stderr,
): Promise<T> {
  let shown = -1;
  const show = (share: number): void => {
    const percent = Math.min(Math.floor(share * 100), 100);
    if (!screen.isTTY || percent === shown) return;
    shown = percent;
    const bar = '█'.repeat((percent / 100) * BAR_WIDTH).padEnd(BAR_WIDTH, '░');
    screen.write(`\r\u001B[2K${bar} ${String(percent).padStart(3)} %`);
  };
  try {
    return await work(show);
  } finally {
    // The next output begins on an empty line.
    if (shown >= 0) screen.write('\r\u001B[2K');
  }
}
