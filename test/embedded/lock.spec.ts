import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { lockPurpose, takeAppLock } from '../../src/embedded-postgres/lock';
import { type Child, cleanUp, rejectionOf, startChild, temporaryFolder, until } from './support/harness';

const RACERS = 3;
const ROUNDS = 15;

describe('app.lock', () => {
  const folder = temporaryFolder();
  const file = join(folder, 'app.lock');
  const deadPid = spawnSync(process.execPath, ['-e', '']).pid;
  let racers: readonly Child[];
  beforeAll(() => {
    racers = Array.from({ length: RACERS }, startChild);
  });
  afterAll(cleanUp);

  const leaveStaleLock = (name: string): void =>
    writeFileSync(join(folder, name), `{"pid":${deadPid},"identity":"gone","token":"${Math.random()}"}`);

  it('has one owner until it is released', async () => {
    const release = await takeAppLock(folder, 'service');
    expect(lockPurpose(folder)).toBe('service');
    expect(await rejectionOf(takeAppLock(folder, 'service'))).toContain(`in use by process ${process.pid}:`);
    release();
    release();
    expect(readdirSync(folder)).toEqual([]);
  });

  it('makes a service wait while a command holds it', async () => {
    const release = await takeAppLock(folder, 'command');
    expect(lockPurpose(folder)).toBe('command');
    let hasResponded = false;
    const waiting = racers[0]!.ask({ lock: folder }).finally(() => (hasResponded = true));
    // While it waits, its own draft exists next to the command's lock.
    const isTrying = () => readdirSync(folder).some((name) => name.startsWith('app.lock.new-'));
    await until(() => isTrying() || hasResponded);
    expect([hasResponded, lockPurpose(folder)]).toEqual([false, 'command']);
    release();
    expect(await waiting).toEqual({ won: true });
    await racers[0]!.ask({ release: true });
    expect(readdirSync(folder)).toEqual([]);
  });

  it.each([
    ['its process has ended', `{"pid":${deadPid},"identity":"gone","token":"t"}`],
    ['another process has the pid now', `{"pid":${process.pid},"identity":"of an earlier one","token":"t"}`],
    ['a power cut has lost its content', ''],
  ])('is taken over if %s', async (_why, content) => {
    writeFileSync(file, content);
    expect(lockPurpose(folder)).toBeUndefined();
    (await takeAppLock(folder, 'service'))();
    expect(existsSync(file)).toBe(false);
  });

  it('is taken over and swept after a process was killed during a takeover', async () => {
    leaveStaleLock('app.lock');
    // A claim of a process that has ended; its name has a hash of the stale lock.
    const { createHash } = await import('node:crypto');
    const generation = createHash('sha256').update(readFileSync(file)).digest('hex').slice(0, 16);
    leaveStaleLock(`app.lock.after-${generation}`);
    leaveStaleLock('app.lock.new-0');
    const release = await takeAppLock(folder, 'service');
    expect(readdirSync(folder)).toEqual(['app.lock']);
    release();
  });

  it('keeps the lock of a successor if it is released late', async () => {
    const release = await takeAppLock(folder, 'service');
    leaveStaleLock('app.lock');
    release();
    expect(existsSync(file)).toBe(true);
  });

  it(`is taken over by exactly one of ${RACERS} concurrent processes`, async () => {
    await Promise.all(racers.map((racer) => racer.ask({ release: true })));
    const winners: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      leaveStaleLock('app.lock');
      const responses = await Promise.all(racers.map((racer) => racer.ask({ lock: folder })));
      const winner = responses.findIndex((response) => response.won === true);
      winners.push(responses.filter((response) => response.won === true).length);
      const named = responses.filter((response) =>
        response.refusal?.includes(`process ${racers[winner]?.pid}:`),
      );
      expect(named).toHaveLength(RACERS - 1);
      await racers[winner]?.ask({ release: true });
    }
    expect(winners).toEqual(Array.from({ length: ROUNDS }, () => 1));
    expect(readdirSync(folder)).toEqual([]);
  });
});
