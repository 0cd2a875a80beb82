import { ProgressBar } from '../../src/cli/seed/progress-bar';

describe('the progress bar', () => {
  function drawn(isTTY: boolean) {
    const writes: string[] = [];
    const bar = new ProgressBar(1_000, {
      isTTY,
      write: (text: string | Uint8Array) => !!writes.push(String(text)),
    });
    for (let done = 0; done <= 1_000; done += 1) bar.show(done);
    bar.clear();
    return writes;
  }

  it('grows on one line of a terminal, is drawn once for each percent, and is removed', () => {
    const writes = drawn(true);
    expect(writes).toHaveLength(102);
    expect(writes[25]).toBe(`\r${'█'.repeat(10)}${'░'.repeat(30)}  25 %  250 of 1000`);
    expect(writes.join('')).not.toContain('\n');
    expect(writes.at(-1)).toBe('\r\u001B[2K');
  });

  it('writes nothing if the stream is not a terminal', () => {
    expect(drawn(false)).toEqual([]);
  });
});
