import { petEvents } from '../../src/pets/pets.events';
import { lease, WAKE } from '../../src/webhooks/webhooks.repository';
import { buffersOf, describeOnEachServer } from '../support/each-server';

const WEBHOOKS = 20_000;
const EVENTS = 50_000;
const MAX_BUFFERS = 30;

const FILL = [
  "INSERT INTO accounts (name, plan) SELECT 'account ' || n, 'free' FROM generate_series(1, 100) AS n",
  `INSERT INTO events (id, type, data) SELECT n, 'pet.created', '{}' FROM generate_series(1, ${EVENTS}) AS n`,
  `UPDATE webhook_log SET woken_to = ${EVENTS}`,
  `INSERT INTO webhooks (account_id, url, secret, created_at, updated_at, due_at, position, is_idle)
   SELECT accounts.id, 'https://shop.example', '', now(), now(), now(), ${EVENTS}, true
   FROM accounts, generate_series(1, ${WEBHOOKS / 100})`,
  'VACUUM ANALYZE accounts, events, webhooks',
  `PREPARE claim AS ${lease('webhooks.id')}`,
];

const TICK = `EXECUTE claim (now(), now() + interval '30 s', '{fast,slow,failing}', '{200,100,100}',
  ARRAY[now() + interval '40 s', now() + interval '40 s', now() + interval '8 h'])`;

it('finds webhooks for all events of animals by the types of the partial index', () => {
  expect(WAKE).toContain(`'{${Object.keys(petEvents).join()}}'`);
});

describeOnEachServer('a tick without work', (create) => {
  let database: Awaited<ReturnType<typeof create>>;
  beforeAll(async () => {
    database = await create();
    for (const statement of FILL) await database.query(statement);
  });
  afterAll(() => database.drop());

  it.each([
    ['whose events are all delivered', 'is_idle = true'],
    ['that pause after a failure', "is_idle = false, attempts = 1, due_at = now() + interval '1 h'"],
    ['that are disabled', 'is_idle = false, disabled_at = now()'],
  ])(`reads at most ${MAX_BUFFERS} buffers with ${WEBHOOKS} webhooks %s`, async (_which, values) => {
    await database.query(`UPDATE webhooks SET ${values}`);
    await database.query('VACUUM ANALYZE webhooks');
    for (const mode of ['force_generic_plan', 'force_custom_plan']) {
      await database.query(`SET plan_cache_mode = ${mode}`);
      expect(await buffersOf(database, TICK)).toBeLessThanOrEqual(MAX_BUFFERS);
    }
  });
});
