import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../src/platform/config/config';

describe('a secret in a file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'animal-store-secrets-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  function fileOf(content: string): string {
    const path = join(folder, 'secret');
    writeFileSync(path, content);
    return path;
  }

  it.each(['', '\n', '\r\n', ' \n'])('is its one line, without %j at the end', (end) => {
    const url = 'postgresql://shop:p%40ss@db/shop';
    expect(readConfig({ DATABASE_URL_FILE: fileOf(`${url}${end}`) }).databaseUrl).toBe(url);
    expect(readConfig({ REDIS_URL_FILE: fileOf(`redis://:x@r${end}`) }).redisUrl).toEqual(['redis://:x@r']);
  });

  it('is rejected if the variable itself is set, too', () => {
    const both = { REDIS_URL: 'redis://:secret@a', REDIS_URL_FILE: fileOf('redis://:secret@b') };
    expect(() => readConfig(both)).toThrow(
      'Invalid settings: REDIS_URL and REDIS_URL_FILE are both set: keep one of them. Fix them and start again.',
    );
  });

  it('is not read if its variable is empty', () => {
    expect(readConfig({ DATABASE_URL_FILE: '', DATABASE_URL: 'postgres://a/b' }).databaseUrl).toBe(
      'postgres://a/b',
    );
  });

  it.each([
    ['', 'DATABASE_URL is missing: the file of DATABASE_URL_FILE is empty'],
    ['postgres://a/b\nsecret\n', 'DATABASE_URL has a reserved character'],
    ['mysql://:secret@a/b', 'DATABASE_URL must be a URL that begins with postgres:// or postgresql://'],
  ])('that contains %j is rejected without being shown', (content, problem) => {
    const read = () => readConfig({ DATABASE_URL_FILE: fileOf(content) });
    expect(read).toThrow(problem);
    expect(read).not.toThrow(/secret@|secret\n/);
  });

  it('that cannot be read is rejected by the name of its variable', () => {
    expect(() => readConfig({ DATABASE_URL_FILE: folder })).toThrow(
      `DATABASE_URL cannot be read: DATABASE_URL_FILE must name a file that this user may read, not "${folder}"`,
    );
  });
});

describe('a URL with a password', () => {
  const sentence =
    'DATABASE_URL has a reserved character in its user name or password: write % as %25, @ as %40, / as %2F, ? as %3F, # as %23, a space as %20';

  it.each(['p@ss/w:rd#1', 'a/b', 'a?b', 'a#b', 'a/b?c=d', '50%', '%zz', 'a/', 'a b%2Fc'])(
    'that contains %j unencoded is rejected with the encoding',
    (password) => {
      const read = () => readConfig({ DATABASE_URL: `postgresql://shop:${password}@db:5432/shop` });
      expect(read).toThrow(sentence);
      expect(read).not.toThrow(password);
      expect(() => readConfig({ REDIS_URL: `redis://:${password}@cache` })).toThrow(/^.*REDIS_URL has a res/);
    },
  );

  it.each([
    'postgresql://shop:p%40ss%2Fw%3Ard%231@db/shop',
    'postgresql://shop:p@ss@db/shop',
    'postgresql://shop@db/shop?application_name=a%40b',
    'postgresql:///shop?user=a%40b&host=/run/postgresql',
    'postgresql://shop:a%20b@[::1]:5432/shop?sslmode=verify-full',
  ])('%s is valid', (url) => expect(readConfig({ DATABASE_URL: url }).databaseUrl).toBe(url));
});
