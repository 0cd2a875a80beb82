import { execFileSync } from 'node:child_process';
import { fitConnections, readOpenFileLimit } from '../src/platform/runtime/open-files';
import { itWhen } from './support/it-when';
import { UserError } from '../src/platform/errors/user-error';

describe('MAX_CONNECTIONS and the limit of open files', () => {
  const asked = { maxConnections: 10_000, databasePoolSize: 10 };

  it('is unchanged if the process may open enough files, or any number', () => {
    for (const openFiles of [10_110, 1_000_000, undefined]) {
      expect(fitConnections(asked, openFiles)).toEqual({ maxConnections: 10_000, notices: [] });
    }
  });

  it('is lowered, with a notice, if the process may open too few', () => {
    expect(fitConnections(asked, 1_024)).toEqual({
      maxConnections: 914,
      notices: [
        'The process may open only 1024 files: MAX_CONNECTIONS is 914. Raise that limit ("ulimit -n") to 10110 for 10000.',
      ],
    });
  });

  it('ends the start with one sentence if no file is left for a connection', () => {
    expect(() => fitConnections(asked, 110)).toThrow(
      new UserError('The process may open only 110 files. Raise that limit ("ulimit -n") to 10110.'),
    );
  });

  itWhen(process.platform === 'linux', 'needs ulimit')('is read from the system', async () => {
    const limit = execFileSync('/bin/sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }).trim();
    expect(readOpenFileLimit()).toBe(limit === 'unlimited' ? undefined : Number(limit));
  });
});
