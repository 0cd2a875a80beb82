import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(__dirname, '..');

describe('the source', () => {
  it('connects only to the database, Redis and the receivers of webhooks', () => {
    const files = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' });
    const outgoing = files.filter(
      (path) =>
        path.endsWith('.ts') &&
        // A client for tests. Nothing else of src imports it: .oxlintrc.json.
        !path.startsWith('testing/') &&
        /(?<!\.)\bfetch\(|https?\.(request|get)\(|import \{[^}]*\b(request|get|connect)\b[^}]*\} from 'node:(http|https|http2|net|tls)'|'undici'/.test(
          readFileSync(join(ROOT, 'src', path), 'utf8'),
        ),
    );
    expect(outgoing).toEqual(['embedded-postgres/embedded-server.ts', 'webhooks/receiver-client.ts']);
    const [page = ''] =
      /\*\*API7 [^]*?(?=- \*\*API8)/.exec(readFileSync(join(ROOT, 'SECURITY.md'), 'utf8')) ?? [];
    for (const place of ['database', 'Redis', 'name servers', 'receivers of webhooks'])
      expect(page).toContain(place);
  });
});
