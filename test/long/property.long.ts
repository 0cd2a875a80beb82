import { fuzzBodies, fuzzRequests } from '../edge/support/fuzz';
import { dataFolder, runBuilt, running } from '../support/service';
import { ALL_SCOPES, createKey } from './support/keys';

const RUNS = 2_500;

jest.setTimeout(15 * 60_000);

describe('the built service', () => {
  const folder = dataFolder();
  const environment = { DATA_DIR: folder.path, LOG_LEVEL: 'error' };
  afterAll(folder.remove);

  it(`takes ${RUNS} arbitrary bodies and as many changed requests without a 5xx, and stores every accepted body`, async () => {
    const key = await createKey(environment, { scopes: ALL_SCOPES });
    const service = await running(runBuilt('main', [], environment));
    const stored = await fuzzBodies({ url: service.url, key }, RUNS);
    await fuzzRequests({ url: service.url, key }, RUNS);
    process.stdout.write(
      `property: ${RUNS} bodies, ${stored} resources at the end; ${RUNS} changed requests\n`,
    );
    expect(stored).toBeGreaterThan(RUNS / 100);
    service.child.kill('SIGTERM');
    expect(await service.ended).toBe(0);
    expect(service.output()).not.toMatch(/"level":(?:50|60)/);
  });
});
