import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorCodes } from '../../src/errors/error-codes';
import { codesByStatus } from '../../src/openapi/description';
import { startApp, type TestApp } from '../support/app';
import { breakingChanges } from './support/breaking-changes';
import { currentDocument } from './support/current-document';

const ROOT = join(__dirname, '..', '..');
const committed = readFileSync(join(ROOT, 'openapi.json'), 'utf8');

describe('openapi.json', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
  });
  afterAll(() => app.close());

  it('is the document that the service serves under the default settings; if not: npm run -s openapi', async () => {
    const { text } = await app.get('/openapi.json', { key: undefined });
    expect(text).toBe(committed);
    expect(await currentDocument()).toBe(committed);
  });

  it('breaks nothing of the last release; what does belongs under /v2', () => {
    const released = JSON.parse(readFileSync(join(__dirname, 'released.json'), 'utf8'));
    expect(breakingChanges(released, JSON.parse(committed))).toEqual([]);
  });

  it('says the bounds of int64 exactly', () => {
    expect(committed).toContain('"minimum": -9223372036854775808');
    expect(committed).toContain('"maximum": 9223372036854775807');
    expect(committed).not.toMatch(/9223372036854776/);
  });

  it('and the README say the same of every code', () => {
    const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
    const rows = readme.split('\n').flatMap((line) => {
      const [, status, code, when] = /^\| (\d{3}) +\| `(\w+)` +\| (.*?) +\|$/.exec(line) ?? [];
      return status === undefined ? [] : [{ status: Number(status), code, when }];
    });
    expect(rows).toEqual(errorCodes.map(({ status, code, when }) => ({ status, code, when })));
    expect(readme.split('\n')).toContain(codesByStatus());
  });
});
