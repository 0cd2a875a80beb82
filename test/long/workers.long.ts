import { setTimeout as sleep } from 'node:timers/promises';
import { send } from '../support/http';
import { dataFolder, runBuilt } from '../support/service';
import { BuiltService } from './support/built-service';
import { createKey } from './support/keys';

const PER_MINUTE = 2;
const STRIKES = 5;
/** Each request has its own connection, so both workers get some. */
const REQUESTS = 20;

jest.setTimeout(300_000);

it('WORKERS=2: a key is banned by the strikes of both workers, on both; another service on the port fails in one sentence', async () => {
  const folder = dataFolder();
  const environment = { DATA_DIR: folder.path, RATE_LIMIT_BAN_AFTER: String(STRIKES), LOG_LEVEL: 'silent' };
  const service = await BuiltService.start({ ...environment, WORKERS: '2' });
  const key = await createKey(environment, { perMinute: PER_MINUTE });
  const get = () => send(service.url, 'GET', '/v1/pets?limit=1', { key });
  for (let sent = 0; sent < PER_MINUTE; sent += 1) expect((await get()).status).toBe(200);
  for (let strike = 0; strike < STRIKES; strike += 1) {
    await sleep(1_100);
    expect((await get()).json.code).toMatch(/^(rate_limit_exceeded|api_key_banned)$/);
  }
  const responses = await Promise.all(Array.from({ length: REQUESTS }, get));
  expect(new Set(responses.map(({ json }) => json.code))).toEqual(new Set(['api_key_banned']));
  const { port } = new URL(service.url);
  const other = dataFolder();
  const failed = runBuilt('main', [], { DATA_DIR: other.path, PORT: port, WORKERS: '2' });
  expect(await failed.ended).toBe(1);
  expect(failed.output()).toContain(
    `127.0.0.1:${port} is in use. Stop the program that uses it, or set PORT.\n`,
  );
  await service.stop();
  other.remove();
  folder.remove();
});
