import type { Operation } from './api-document';
import { parseExactly, valueAt } from './exact-json';
import { replaceAt, type JsonText } from './json-body';
import { isSuccess, type Probe, shown } from './probe';
import type { Resources } from './resources';
import { type Place, type Schema } from './schema';

/** 2^53 + 1, which JavaScript's numbers do not have. */
const LARGE: JsonText = { text: '9007199254740993', value: 2 ** 53 };
const NULL: JsonText = { text: 'null', value: null };

/** Checks that the response to a creation has the sent int64 and null, and so has the created resource. */
export async function checkExactValues(probe: Probe, resources: Resources): Promise<void> {
  for (const operation of probe.api.operations) {
    const { body } = operation;
    if (body === undefined) continue;
    for (const [place, { format }] of probe.api.placesOf(body)) {
      if (format === 'int64') await checkValue(probe, resources, operation, body, place, LARGE);
      await checkValue(probe, resources, operation, body, place, NULL);
    }
  }
}

async function checkValue(
  probe: Probe,
  resources: Resources,
  operation: Operation,
  schema: Schema,
  place: Place,
  value: JsonText,
): Promise<void> {
  const body = replaceAt(resources.newBody(operation), place, value);
  if (!body || probe.api.errors(schema, body.value).length > 0) return;
  const name = place.join('.');
  const what = `${name} = ${value.text}`;
  const response = await probe.send(operation, { path: resources.pathOf(operation), body: body.text, what });
  if (response.status === 400) {
    probe.note(operation.title, `rejects ${what}, which its document allows`);
  }
  if (!isSuccess(response)) return;
  const texts = [response.text];
  const { location } = response.headers;
  if (location !== undefined) {
    const { pathname } = new URL(location, probe.store.url);
    const stored = await probe.store.fetch(pathname, { key: await probe.store.key() });
    if (isSuccess(stored)) texts.push(stored.text);
  }
  const wrong = texts.map((text) => valueAt(parseExactly(text), place)).find((got) => !isSame(got, value));
  if (wrong !== undefined) probe.note(operation.title, `responds with ${name} = ${shown(wrong)} to ${what}`);
}

/** The serializer prints null as an empty text or 0 unless the schema of the response is nullable. */
function isSame(got: unknown, { text, value }: JsonText): boolean {
  return value === null ? got !== '' && got !== '0' && got !== false : got === undefined || got === text;
}
