import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { scrape, valueOf } from '../support/metrics';
import { until } from '../support/until';
import { ThrottledModule } from './support/throttled.module';

describe('a limit of a route', () => {
  let app: TestApp;
  beforeEach(async () => {
    app = await startApp({ metricsPort: 0 }, { modules: [ThrottledModule] });
  });
  afterEach(() => app.close());

  const book = () => app.post('/v1/slots', '{}');
  async function bookTimes(count: number): Promise<void> {
    for (let at = 0; at < count; at += 1) await book();
  }
  const lines = () => app.log.map((line) => JSON.parse(line)).filter(({ status }) => status === 429);

  it('has one decision for each request in the metrics', async () => {
    await bookTimes(7);
    await app.get('/v1/slots');
    const metrics = await scrape(app);
    const decisions = (verdict: string) =>
      valueOf(metrics, `animal_store_rate_limit_decisions_total{plan="business",verdict="${verdict}"}`);
    expect([decisions('admitted'), decisions('limited')]).toEqual([6, 2]);
    expect(valueOf(metrics, 'animal_store_refusals_total{code="rate_limit_exceeded"}')).toBe(2);
  });

  it('has a log line for the first 429 of a key, and one with the route and the number of the others', async () => {
    await bookTimes(9);
    for (let at = 0; at < 4; at += 1) await app.get('/v1/slots/own');
    expect(lines()).toMatchObject([
      { msg: 'request', route: '/v1/slots' },
      { msg: 'request', route: '/v1/slots/own' },
    ]);
    app.clock.advance({ seconds: 60 });
    await until(() => lines().length === 4);
    const sum = { msg: 'requests rejected by the rate limit', verdict: 'limited', key: expect.any(String) };
    expect(lines().slice(2)).toMatchObject([
      { ...sum, route: '/v1/slots', rejected: 3 },
      { ...sum, route: '/v1/slots/own', rejected: 1 },
    ]);
  });

  it('survives a clean stop', async () => {
    await bookTimes(4);
    await app.restart();
    await bookTimes(1);
    expectError(await book(), 429, 'rate_limit_exceeded');
    expect(
      await app.database.query(`SELECT owner FROM rate_limit_counters WHERE owner LIKE '%:route:%'`),
    ).toEqual([{ owner: expect.stringMatching(/^account:\d+:route:SlotsController\.book:default$/) }]);
  });
});
