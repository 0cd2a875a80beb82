import { RedisClient } from '@redis/client';
import * as fc from 'fast-check';
import { Client } from 'pg';
import { readConfig } from '../src/config/config';
import { userMessage } from '../src/app/user-message';

const EXAMPLE = { host: 'db', port: 5432, user: 'app', password: 'pw', database: '1' };
type Server = typeof EXAMPLE;
type Form = [form: (server: Server) => string, read: (url: string) => object];

/** Returns the server of a URL, as the driver of PostgreSQL reads what the service makes of it. */
function readPostgres(url: string) {
  const { host, port, user, password, database } = new Client(readConfig({ DATABASE_URL: url }).databaseUrl);
  return { host, port, user, password, database };
}

function readRedis(url: string) {
  const { redisUrl = '' } = readConfig({ REDIS_URL: url });
  const { socket, username, password, database = '' } = RedisClient.parseURL(redisUrl);
  return { ...socket, user: username, password, database: String(database) };
}

const authority = ({ host, port, user, password }: Server) => {
  const inUrl = host.startsWith('/') ? encodeURIComponent(host) : host.includes(':') ? `[${host}]` : host;
  return `${encodeURIComponent(user)}:${encodeURIComponent(password)}@${inUrl}:${port}`;
};
const parametersOf = (given: object) =>
  Object.entries(given)
    .map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`)
    .join('&');

/** Forms of libpq, with the quotes and ends of files. A host that is a folder has a socket. */
const FORMS: readonly Form[] = [
  [(to) => `  "POSTGRES://${authority(to)}/${to.database}?pgbouncer=true&schema=public"\n`, readPostgres],
  [
    (to) =>
      `postgresql://${authority(to).replace(/@.*/, '@')}/${to.database}?host=${to.host}&port=${to.port}`,
    readPostgres,
  ],
  [({ database, ...others }) => `postgresql:///${database}?${parametersOf(others)}`, readPostgres],
];
const REDIS: readonly Form[] = [
  [(to) => `redis://${authority(to)}/${to.database}`, readRedis],
  [(to) => `'REDISS://${authority(to)}${to.database && '/'}${to.database}'\r\n`, readRedis],
];
const INCIDENTS: readonly Server[] = [
  ...['p@ss/w:rd#1', 'p,w', '50%', 'é b%2Fc'].map((password) => ({ ...EXAMPLE, password })),
  { ...EXAMPLE, host: '::1' },
];
const SOCKETS = ['/sock', '/cloudsql/p:r:i'].map((host) => ({ ...EXAMPLE, host }));

const network = [fc.domain(), fc.ipV4(), fc.constantFrom('db', '::1', '2001:db8::7')];
const text = fc.string({ minLength: 1, maxLength: 12 });
const port = fc.integer({ min: 1, max: 65_535 });
const others = { port, user: text, password: text, database: fc.nat(15).map(String) };

describe('the URL of a server', () => {
  it.each([
    [
      'PostgreSQL',
      FORMS,
      [...network, fc.constantFrom('/sock', '/run/postgresql')],
      [...INCIDENTS, ...SOCKETS],
    ],
    ['Redis', REDIS, network, [...INCIDENTS, { ...EXAMPLE, database: '' }]],
  ])(
    'leads to the host, port, user, password and database that it has, in each form: %s',
    (_of, forms, hosts, incidents) => {
      const servers = fc.record({ ...others, host: fc.oneof(...hosts) });
      const examples = forms.flatMap((form) => incidents.map((each): [Server, Form] => [each, form]));
      const leads = fc.property(servers, fc.constantFrom(...forms), (to, [form, read]) => {
        expect(read(form(to))).toMatchObject(to);
      });
      fc.assert(leads, { examples, numRuns: 50 });
    },
  );

  it('leads to no other server, and is never shown, if its password is not encoded', () => {
    const unencoded = 'p@ss/w:rd#1|a/b|a?b|a#b|a/b?c=d|50%|%zz|a/|a b%2Fc|p@ss|50%80|,'.split('|');
    const readBy = (read: (url: string) => Server | object, url: string) => {
      try {
        return JSON.stringify(read(url), ['host', 'port', 'database']);
      } catch (error) {
        return userMessage(error);
      }
    };
    const leads = fc.property(fc.string(), fc.string(), (before, after) => {
      for (const [scheme, read] of [
        ['postgresql', readPostgres],
        ['redis', readRedis],
      ] as const) {
        const outcome = readBy(read, `${scheme}://shop:${before}hunter${after}@db:5432/1`);
        expect(outcome).toMatch(
          /^(Invalid settings: \w+ has a reserved character in its user name or password: write % as %25, @ as|{"host":"db","port":5432,"database":"1"}$)/,
        );
        expect(outcome).not.toContain('hunter');
      }
    });
    fc.assert(leads, { examples: unencoded.map((each): [string, string] => [each, each]), numRuns: 50 });
  });
});

describe('DATABASE_URL', () => {
  it.each<[given: string, used?: string]>([
    ['sslmode=require', 'sslmode=verify-full'],
    ['sslrootcert=%73ystem&options=endpoint%3Dep-a-1', 'options=endpoint%3Dep-a-1&sslmode=verify-full'],
    ['sslmode=no-verify&channel_binding=%72equire', 'sslmode=no-verify&channel_binding=require'],
    ['uselibpqcompat=true&sslmode=require&channel_binding=require'],
    ['ssl=no-verify&sslnegotiation=direct&target_session_attrs=prefer-standby'],
    ['sslmode=disable&workaround=supabase-pooler.vercel&sslaccept=strict&sslsni=1'],
    ['channel_binding=prefer&gssencmode=disable&socket_timeout=9&statement_cache_size=0'],
    ['sslrootcert=system&sslmode=disable', 'sslmode=verify-full'],
  ])('the parameters %s are used in the form of the driver', (given, used = given) => {
    expect(readConfig({ DATABASE_URL: `postgresql://db/x?${given}` }).databaseUrl).toBe(
      `postgresql://db/x?${used}`,
    );
  });

  it.each(['sslmode=VERIFY-FULL', 'SSLMODE=require', 'sslcrl=/crl'])(
    'with %s is rejected with the other settings that are invalid',
    (given) => {
      const read = () => readConfig({ DATABASE_URL: `postgresql://db/x?${given}`, PORT: 'x' });
      const [name] = given.split('=');
      expect(read).toThrow(`; DATABASE_URL has a parameter ${name} that is not supported: remove it or`);
    },
  );

  const beginning = 'must be a URL that begins with postgres:// or postgresql://';
  const place = 'must have a valid host and port: ';
  it.each([
    ['host=db dbname=shop password=h@unter', beginning],
    ['postgres+asyncpg://app:hu/nter@db/shop', beginning],
    ['jdbc:postgresql://db/shop?password=hunter', beginning],
    ['postgres:app:hunter@db/shop', beginning],
    ['postgresql://app:hunter@::1/shop', place],
    ['postgresql://app:hunter@db:70000/shop', place],
    ['redis://:hunter@a:1,b:2/0', place],
    [
      'rediss://:hunter@a/0?sentinel=store',
      'may have a database number such as /1 as its path, and no query',
    ],
  ])('%s is rejected with the reason, and not shown', (given, reason) => {
    const variable = given.startsWith('redis') ? 'REDIS_URL' : 'DATABASE_URL';
    const read = () => readConfig({ [variable]: given });
    expect(read).toThrow(`Invalid settings: ${variable} `);
    expect(read).toThrow(reason);
    expect(read).not.toThrow(/unter/);
  });
});
