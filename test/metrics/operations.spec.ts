import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startApp } from '../support/app';
import { scrape } from '../support/metrics';

describe('docs/operations.md', () => {
  it('describes every metric; the dashboard queries only metrics that exist', async () => {
    const app = await startApp({ metricsPort: 0 });
    const { text } = await scrape(app);
    const exposed = [...text.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name!);
    const own = exposed.filter((name) => !/^animal_store_(nodejs|process)_/.test(name));
    const page = readFileSync(join(__dirname, '../../docs/operations.md'), 'utf8');
    const documented = [...page.matchAll(/^\| `(animal_store_(?!nodejs|process)\w+)`/gm)].map(
      ([, name]) => name,
    );
    expect(new Set(documented)).toEqual(new Set(own));
    const dashboard = readFileSync(join(__dirname, '../../docs/operations/grafana-dashboard.json'), 'utf8');
    const asked = [...dashboard.matchAll(/animal_store_\w+/g)].map(([name]) =>
      name.replace(/_(bucket|count)$/, ''),
    );
    expect(asked.length).toBeGreaterThan(8);
    expect(asked.filter((name) => !exposed.includes(name))).toEqual([]);
    await app.close();
  });
});
