import { Client } from 'pg';
import { readConfig } from '../src/platform/config/config';

describe('DATABASE_URL', () => {
  it.each([
    ['postgresql://app:pw@/shop?host=/cloudsql/p:r:i', '/cloudsql/p:r:i 5432 app pw shop'],
    ['postgresql://app:pw@/shop?host=%2Fcloudsql%2Fp%3Ar%3Ai', '/cloudsql/p:r:i 5432 app pw shop'],
    ['postgresql://app:pw@:5433/shop?host=/sock', '/sock 5433 app pw shop'],
    ['postgresql:///shop?host=/sock&port=5433&user=app&password=pw', '/sock 5433 app pw shop'],
    ['postgresql://app:pw@%2Fsock:5433/shop', '/sock 5433 app pw shop'],
    ['postgresql://app:p,w@db/shop', 'db 5432 app p,w shop'],
    ['  "POSTGRES://app:pw@db/shop?pgbouncer=true&schema=public"\n', 'db 5432 app pw shop'],
    [`'postgresql://app:pw@db/shop?channel_binding=require&connect_timeout=3'`, 'db 5432 app pw shop'],
  ])('%s reaches %s', (given, expected) => {
    const { host, port, user, password, database } = new Client(
      readConfig({ DATABASE_URL: given }).databaseUrl,
    );
    expect([host, port, user, password, database].join(' ')).toBe(expected);
  });

  it.each<[given: string, used?: string]>([
    ['sslmode=require', 'sslmode=verify-full'],
    ['sslmode=verify-full&sslrootcert=system', 'sslmode=verify-full'],
    ['sslrootcert=%73ystem&options=endpoint%3Dep-a-1', 'options=endpoint%3Dep-a-1&sslmode=verify-full'],
    ['sslmode=no-verify&channel_binding=%72equire', 'sslmode=no-verify&channel_binding=require'],
    ['uselibpqcompat=true&sslmode=require&channel_binding=require'],
    ['ssl=no-verify&sslnegotiation=direct&target_session_attrs=prefer-standby'],
    ['sslmode=disable&sslmode=disable&workaround=supabase-pooler.vercel&sslaccept=strict&sslsni=1'],
    ['sslmode=require&channel_binding=require', 'sslmode=verify-full&channel_binding=require'],
    ['channel_binding=prefer&gssencmode=disable&socket_timeout=9&statement_cache_size=0'],
    ['sslnegotiation=direct', 'sslnegotiation=direct&sslmode=verify-full'],
  ])('the parameters %s are used in the form of the driver', (given, used = given) => {
    expect(readConfig({ DATABASE_URL: `postgresql://db/x?${given}` }).databaseUrl).toBe(
      `postgresql://db/x?${used}`,
    );
  });

  it('has the sslmode of PGSSLMODE if it has none', () => {
    const read = (url: string) => readConfig({ DATABASE_URL: url }).databaseUrl;
    process.env['PGSSLMODE'] = 'prefer';
    const urls = ['postgresql://db/x', 'postgresql://db/x?sslmode=disable'].map(read);
    expect(urls).toEqual(['postgresql://db/x?sslmode=verify-full', 'postgresql://db/x?sslmode=disable']);
    process.env['PGSSLMODE'] = 'VERIFY-FULL';
    expect(() => read('postgresql://db/x')).toThrow('has the parameter PGSSLMODE=VERIFY-FULL, which is not');
    process.env['PGSSLMODE'] = 'disable';
    expect(() => read('postgresql://db/x?sslnegotiation=direct')).toThrow('contradicts PGSSLMODE=disable');
    delete process.env['PGSSLMODE'];
  });

  const REJECTED = `sslmode=VERIFY-FULL sslmode=verify_full SSLMODE=require sslnegotiation=Direct sslcrl=/crl
    channel_binding=yes gssencmode=require target_session_attrs=standby require_auth=scram-sha-256 search_path=x
    ssl_min_protocol_version=TLSv1.3 statement_timeout=0 currentSchema=app prepared_statements=false`;
  const SHOWN = /^(sslmode|sslnegotiation|channel_binding|gssencmode|target_session_attrs)=.*/;
  it.each(REJECTED.split(/\s+/))('with %s is rejected with the other settings that are invalid', (given) => {
    const read = () => readConfig({ DATABASE_URL: `postgresql://db/x?${given}`, PORT: 'x' });
    const [shown] = SHOWN.exec(given) ?? given.split('=');
    expect(read).toThrow(`; DATABASE_URL has the parameter ${shown}, which is not supported: remove it or`);
  });

  const CONTRADICTORY = `ssl=0&channel_binding=require sslrootcert=system&sslmode=disable
    sslmode=disable&sslnegotiation=direct uselibpqcompat=true&sslmode=require&sslrootcert=system`;
  it.each(CONTRADICTORY.split(/\s+/))('with the contradiction %s is rejected', (given) => {
    const read = () => readConfig({ DATABASE_URL: `postgresql://db/x?${given}` });
    expect(read).toThrow(
      / (channel_binding=require|ssl\w+)(=direct)?, which contradicts ssl(mode)?=(0|dis|req)/,
    );
  });

  const beginning = 'must be a URL that begins with postgres:// or postgresql://';
  const place = 'must have a valid host and port: ';
  it.each([
    ['host=db dbname=shop password=h@unter', beginning],
    ['postgres+asyncpg://app:hu/nter@db/shop', beginning],
    ['jdbc:postgresql://db/shop?password=hunter', beginning],
    ['app:hunter@db/shop', beginning],
    ['postgres:app:hunter@db/shop', beginning],
    ['postgresql://app:hunter@::1/shop', place],
    ['postgresql://app:hunter@a/shop?port=1,2', 'names several servers: '],
    ['postgresql://app:x,hu/nter@db/shop', 'has a reserved character'],
    ['postgresql://app:hunter@db:70000/shop', place],
    ['postgresql://app:hunter@db/shop?port=hunter', place],
    ['postgresql://app:hunter@db/shop?schema=public2', 'has the parameter schema=public2, which is not'],
    ['postgresql:///?host=db&dbname=shop&password=hunter', 'has the parameter dbname'],
    ['postgresql://app:hunter@db/shop#1', 'has a reserved character'],
    ['postgresql://app@db/shop?password=h&unter', 'has the parameter without a value, which is not'],
    ['postgresql://app@db/shop?password=hunter&password=', 'has the parameter password, which has another'],
    ['postgresql://db/x?sslmode=allow&sslmode=disable', 'has the parameter sslmode=allow, which has another'],
  ])('%s is rejected with the reason, and not shown', (given, reason) => {
    const read = () => readConfig({ DATABASE_URL: given });
    expect(read).toThrow(`DATABASE_URL ${reason}`);
    expect(read).not.toThrow(/unter/);
  });
});
