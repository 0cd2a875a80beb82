import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';

const ROOT = join(__dirname, '..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

interface Rule {
  readonly alert?: string;
  readonly expr: string;
  readonly labels?: { readonly severity: string };
  readonly annotations?: { readonly runbook: string };
}

const { groups } = load(read('deploy/prometheus/alerts.yml')) as {
  groups: readonly { readonly rules: readonly Rule[] }[];
};
const rules = groups.flatMap((group) => group.rules);
const alerts = rules.filter(({ alert }) => alert !== undefined);
const operations = read('docs/operations.md');

// `promtool test rules` and `amtool` run in CI: .ci/alerts.
describe('the alerts', () => {
  it.each(alerts.map((rule) => [rule.alert!, rule] as const))(
    '%s has a section in docs/operations.md, a severity and a test',
    (alert, { annotations, labels }) => {
      expect(annotations?.runbook).toBe(`docs/operations.md#${alert.toLowerCase()}`);
      expect(operations).toContain(`\n### ${alert}\n`);
      expect(labels?.severity).toMatch(/^(page|ticket|info)$/);
      expect(read('deploy/prometheus/alerts.test.yml')).toContain(`alertname: ${alert}\n        exp_alerts:`);
    },
  );

  it('use only metrics that docs/operations.md lists', () => {
    const used = rules.flatMap(({ expr }) => expr.match(/\banimal_store_\w+/g) ?? []);
    const names = new Set(used.map((name) => name.replace(/_(bucket|count|sum)$/, '')));
    expect(names.size).toBeGreaterThan(5);
    expect([...names].filter((name) => !operations.includes(`\`${name}\``))).toEqual([]);
  });
});
