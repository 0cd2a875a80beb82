import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { codesByStatus } from '../../src/platform/openapi/description';
import { startApp, type TestApp } from '../support/app';
import { breakingChanges } from './support/breaking-changes';
import { currentDocument } from '../../scripts/current-document';
import { withApiTables } from '../../scripts/api-tables';

/**
 * The changes since the release that the comparison takes for breaking. Each 200 has an ETag now: the client may store it
 * for itself, and must ask each time whether it is current. A client that stores nothing sees no difference.
 */
const ACCEPTED = [
  'get /pets',
  'get /pets/{petId}',
  'get /store/orders',
  'get /store/orders/{orderId}',
  'patch /store/orders/{orderId}',
].flatMap((operation) => [
  `${operation} 200 header Cache-Control: lacks the value no-store`,
  `${operation} 200 header Cache-Control: has the new value private, no-cache`,
]);

const ROOT = join(__dirname, '..', '..');
const committed = readFileSync(join(ROOT, 'openapi.json'), 'utf8');

describe('openapi.json', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
  });
  afterAll(() => app.close());

  it('equals the served document under the default settings; if not, run npm run -s openapi', async () => {
    const { text } = await app.get('/openapi.json', { key: undefined });
    expect(text).toBe(committed);
    expect(await currentDocument()).toBe(committed);
  });

  it('has no breaking change since the last release but the accepted ones; others belong under /v2', () => {
    const released = JSON.parse(readFileSync(join(__dirname, 'released.json'), 'utf8'));
    expect(breakingChanges(released, JSON.parse(committed))).toEqual(ACCEPTED);
  });

  it('has the exact bounds of int64', () => {
    expect(committed).toContain('"minimum": -9223372036854775808');
    expect(committed).toContain('"maximum": 9223372036854775807');
    expect(committed).not.toMatch(/9223372036854776/);
  });

  it('has the scopes and codes of docs/api.md, with the same words; if not, run npm run -s openapi', () => {
    const page = readFileSync(join(ROOT, 'docs', 'api.md'), 'utf8');
    expect(page).toBe(withApiTables(page, JSON.parse(committed)));
    expect(page.split('\n')).toContain(codesByStatus());
  });
});
