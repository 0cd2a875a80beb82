import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { createStore } from '../src/app/store';
import { settings } from '../src/platform/config/settings';

const ROOT = join(__dirname, '..');

/** Decided by the image, or by the composition itself. */
const FIXED = ['HOST', 'PORT', 'DATA_DIR', 'EMBEDDED_PG_BIN', 'REDIS_URL'];

interface Service {
  readonly environment: Readonly<Record<string, string>>;
  readonly logging?: object;
  readonly ports?: readonly string[];
}

const { services } = withMerges(load(readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8'))) as {
  services: Readonly<Record<string, Service>>;
};

/** Resolves the merge keys `<<`, which YAML 1.2 does not have and Compose has. */
function withMerges(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withMerges);
  if (typeof value !== 'object' || value === null) return value;
  const { '<<': base, ...own } = value as Readonly<Record<string, unknown>>;
  const members = Object.entries(own).map(([name, each]) => [name, withMerges(each)] as const);
  return { ...(withMerges(base) as object | undefined), ...Object.fromEntries(members) };
}

describe('docker-compose.yml', () => {
  it.each(['api', 'scaled'])('passes every setting to %s', (name) => {
    const variables = Object.values({ ...settings, ...createStore().settings }).map(
      ({ variable }) => variable,
    );
    expect(variables.filter((each) => !(each in services[name]!.environment))).toEqual(
      FIXED.filter((each) => !(each in services[name]!.environment)),
    );
  });

  it.each(['api', 'scaled'])(
    'takes each setting of %s from the variable of its name, or fixes it',
    (name) => {
      const taken = Object.entries(services[name]!.environment).filter(([, value]) =>
        /\$\{(?!POSTGRES)/.test(value),
      );
      const others = taken.filter(([variable, value]) => !value.startsWith(`\${${variable}:-`));
      // Compose reads .env, too: a copy of .env.example would make the container a deployment for development.
      expect(others).toEqual([['DEPLOYMENT', '${CONTAINER_DEPLOYMENT:-production}']]);
    },
  );

  it('limits the log of every service', () => {
    expect(Object.values(services).filter(({ logging }) => !logging)).toEqual([]);
  });

  it('publishes ports on this machine only, and not that of the database', () => {
    const ports = Object.values(services).flatMap((service) => service.ports ?? []);
    expect(ports).toEqual(['127.0.0.1:3000:3000', '127.0.0.1:8080:8080']);
  });
});
