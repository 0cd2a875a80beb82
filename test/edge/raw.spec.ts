import { framing } from './raw/framing.rows';
import { headers } from './raw/headers.rows';
import { pipelines } from './raw/pipelines.rows';
import { requestLines } from './raw/request-line.rows';
import { slow } from './raw/slow.rows';
import { targets } from './raw/targets.rows';
import { contentTypes, texts } from './raw/text.rows';
import { get, post, PET, type Row, RowRunner } from './support/raw-rows';

const TOPICS: readonly (readonly [topic: string, rows: readonly Row[]])[] = [
  ['the request line', requestLines],
  ['the target', targets],
  ['headers', headers],
  ['the framing of bodies', framing],
  ['pipelined requests', pipelines],
  ['the text of a body', texts],
  ['the type of a body', contentTypes],
];
const MIN_ROWS = 300;

describe('raw bytes over TCP', () => {
  let runner: RowRunner;
  beforeAll(async () => {
    runner = await RowRunner.start();
  });
  afterAll(() => runner.app.close());

  describe.each(TOPICS)('%s', (_topic, rows) => {
    it.each(rows.map((row) => [row[0], String(row[2]), row[3], row] as const))(
      '%s: %s, connection %s',
      async (_case, _responses, _connection, row) => {
        await expect(runner.run(row)).resolves.toBeUndefined();
      },
    );
  });

  it('only acknowledged animals are stored, no request failed, and the service still responds', async () => {
    const rows = TOPICS.reduce((sum, [, { length }]) => sum + length, slow.length);
    process.stdout.write(`raw requests over TCP: ${rows} rows\n`);
    expect(rows).toBeGreaterThanOrEqual(MIN_ROWS);
    const [{ count } = { count: '' }] = await runner.app.database.query<{ count: string }>(
      'SELECT count(*) FROM pets',
    );
    expect(count).toBe(String(runner.created));
    expect(runner.app.log.filter((line) => /"level":"?(?:50|60|error|fatal)|"status":5/.test(line))).toEqual(
      [],
    );
    await runner.run(['a read', get(), '200', 'open']);
    await runner.run(['a write', post(PET), '201', 'open']);
  });
});

describe('bytes that never arrive whole', () => {
  it('408 request_timeout for each, after the responses to earlier requests', async () => {
    const runner = await RowRunner.start({ headersTimeoutMs: 300, requestTimeoutMs: 400 });
    const outcomes = await Promise.all(
      slow.map(async (row) => [row[0], await runner.run(row).then(() => 'passed', String)]),
    );
    expect(outcomes).toEqual(slow.map(([title]) => [title, 'passed']));
    await runner.run(['a read', get(), '200', 'open']);
    await runner.app.close();
  });
});
