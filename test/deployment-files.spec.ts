import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load, YAML11_SCHEMA } from 'js-yaml';
import { createStore } from '../src/app/store';
import { settings } from '../src/config/settings';
import { isPublicAddress } from '../src/webhooks/public-addresses';
import { V8_FLAGS, YOUNG_GENERATION as size } from '../src/app/v8-flags';

const ROOT = join(__dirname, '..');
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

const { groups } = load(read('deploy/prometheus/alerts.yml')) as any;
const alerts: any[] = groups.flatMap((group: any) => group.rules).filter(({ alert }: any) => alert);
const troubleshoot = read('docs/troubleshoot.md');

// `promtool test rules` and `amtool` run in CI: .ci/alerts.
describe('the alerts', () => {
  it.each(alerts.map((rule) => [rule.alert, rule] as const))(
    '%s has a section in docs/troubleshoot.md, a severity and a test',
    (alert, { annotations, labels }) => {
      expect(annotations?.runbook).toBe(`docs/troubleshoot.md#${alert.toLowerCase()}`);
      expect(troubleshoot).toContain(`\n### ${alert}\n`);
      expect(labels?.severity).toMatch(/^(page|ticket|info)$/);
      expect(read('deploy/prometheus/alerts.test.yml')).toContain(`alertname: ${alert}\n        exp_alerts:`);
    },
  );
});

/** Decided by the image, or by the composition itself. */
const FIXED = ['HOST', 'PORT', 'DATABASE_URL_FILE', 'DATA_DIR'];

interface Service {
  readonly environment: Readonly<Record<string, string>>;
  readonly logging?: object;
  readonly ports?: readonly string[];
}

// Only YAML 1.1 has the merge keys `<<` of Compose.
const { services } = load(read('docker-compose.yml'), { schema: YAML11_SCHEMA }) as {
  services: Readonly<Record<string, Service>>;
};

describe('docker-compose.yml', () => {
  // Compose reads .env, too: a copy of .env.example would make the container a deployment for development.
  it.each(['api', 'scaled'])(
    'passes every setting to %s, from the variable of its name, or fixes it',
    (name) => {
      const { environment } = services[name]!;
      const all: readonly { variable: string; isSecret?: boolean }[] = Object.values({
        ...settings,
        ...createStore().settings,
      });
      const variables = all.flatMap(({ variable, isSecret }) =>
        isSecret ? [variable, `${variable}_FILE`] : variable,
      );
      expect(variables.filter((each) => !(each in environment)).toSorted()).toEqual(FIXED.toSorted());
      const others = Object.entries(environment).filter(
        ([variable, value]) => /\$\{(?!POSTGRES)/.test(value) && !value.startsWith(`\${${variable}:-`),
      );
      expect(others).toEqual([['DEPLOYMENT', '${CONTAINER_DEPLOYMENT:-production}']]);
    },
  );

  it('limits the log of every service, and publishes ports on this machine only, and not that of the database', () => {
    expect(Object.values(services).filter(({ logging }) => !logging)).toEqual([]);
    const ports = Object.values(services).flatMap((service) => service.ports ?? []);
    expect(ports).toEqual(['127.0.0.1:3000:3000', '127.0.0.1:8080:8080']);
  });
});

describe('the network policy of Kubernetes', () => {
  it('lets webhooks out to the same public addresses as the service', () => {
    const { spec } = load(read('deploy/kubernetes/base/network-policy.yaml')) as any;
    const blocks: string[] = spec.egress
      .flatMap(({ to = [] }: any) => to)
      .flatMap(({ ipBlock }: any) => ipBlock.except);
    expect(blocks.length).toBeGreaterThan(15);
    for (const block of blocks) {
      const [first = ''] = block.split('/');
      expect([block, isPublicAddress(first)]).toEqual([block, false]);
    }
    // Every block that the service rejects is in the policy, or outside of its two ranges.
    const sender = read('src/webhooks/public-addresses.ts');
    const rejected = sender.match(/(?<=[ '])(?:\d+\.){3}\d+\/\d+|(?<=[ '`])[0-9a-f]*:[0-9a-f:]*\/\d+/g) ?? [];
    expect(rejected.filter((block) => !/^(2000::\/3|64:|::)/.test(block)).toSorted()).toEqual(
      blocks.toSorted(),
    );
  });
});

describe('the probes', () => {
  const METRICS_PORT = '9464';

  it('of Kubernetes use the metrics port, which clients cannot delay', () => {
    const deployment = read('deploy/kubernetes/base/deployment.yaml');
    const probes = [...deployment.matchAll(/httpGet: \{ path: (\S+), port: (\w+) \}/g)];
    expect(probes.map(([, path, port]) => [path, port])).toEqual([
      ['/readyz', 'metrics'],
      ['/readyz', 'metrics'],
      ['/livez', 'metrics'],
    ]);
    expect(deployment).toContain(`{ name: metrics, containerPort: ${METRICS_PORT} }`);
    expect(read('deploy/kubernetes/base/config.env')).toContain(`\nMETRICS_PORT=${METRICS_PORT}\n`);
  });

  it('of the image and the composition use the metrics port, which both set', () => {
    for (const [file, port, setting] of [
      ['Dockerfile', '$METRICS_PORT', `METRICS_PORT=${METRICS_PORT} `],
      ['docker-compose.yml', '$$METRICS_PORT', `METRICS_PORT: '${METRICS_PORT}'`],
    ] as const) {
      const text = read(file);
      const probed = [...text.matchAll(/\/dev\/tcp\/127\.0\.0\.1\/(\S+)/g)].map(([, each]) => each);
      expect([file, probed]).toEqual([file, [port]]);
      expect(text).toContain(setting);
    }
  });
});

/** Returns the options of Node.js before `dist/main.js` in each command of a text. */
function optionsOf(text: string): string[] {
  const commands = text.matchAll(/\bnode[",]*((?: "?-[^ \n]+)*?) "?dist\/main\.js/g);
  return [...commands].map(([, options = '']) => options.replaceAll(/[",]/g, '').trim());
}

describe('options of Node.js', () => {
  it('start scripts, image and systemd unit set the same size of the young generation', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    expect(optionsOf(`${scripts['start']}\n${scripts['start:prod']}`)).toEqual([size, size]);
    expect(/ NODE_OPTIONS=(.*?) \\$/m.exec(read('Dockerfile'))?.[1]).toBe(size);
    expect(optionsOf(/^ExecStart=.*$/m.exec(read('deploy/systemd/animal-store.service'))?.[0] ?? '')).toEqual(
      [size],
    );
  });

  it('V8 of this Node.js knows the flags of the service', () => {
    const set = V8_FLAGS.map((flag) => `require('node:v8').setFlagsFromString(${JSON.stringify(flag)})`);
    const { status, stderr } = spawnSync(process.execPath, ['-e', set.join(';')], { encoding: 'utf8' });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });
});

it('the clients have the version of the service', () => {
  const versionOf = (file: string): string => JSON.parse(read(file)).version;
  const version = versionOf('package.json');
  expect(versionOf('clients/typescript/package.json')).toBe(version);
  expect(read('clients/python/pyproject.toml')).toContain(`\nversion = "${version}"\n`);
});
