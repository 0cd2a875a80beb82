import { type Api, type Check, encoded, isSuccess, shown } from './api';
import type { Operation, Schema } from './api-document';
import { changedAt, jsonIn, jsonOf } from './json';

const MARK = '@@value@@';
/** Texts that break programs: of databases, of JavaScript objects, of terminals. */
const TEXTS = ['', ' ', 'a\u0000b', '__proto__', "'; DROP TABLE migrations; --", '2027-02-30'].map(jsonOf);
/** Texts that a URL cannot have. */
const LONG_TEXTS = [jsonOf('x'.repeat(10_000)), String.raw`"\ud800"`];
/** Ids as they are written in a URL; some are not UTF-8. */
const IDS = ['%', '%ED%A0%80', 'a%00b', '1.5', '9223372036854775808'];
/** Values of other types, and numbers beyond what JavaScript and PostgreSQL hold. */
const VALUES = ['"x"', '1.5', '[]', '9223372036854775808', '1e400'];
/** Whole bodies that are not the documented object. */
const BODIES = ['', 'null', '[]', '"x"', '{"a":1,"a":2}', `${'['.repeat(100)}${']'.repeat(100)}`, '{}', '{'];
/** All lists take these parameters from one class. */
const PAGING = /^(limit|cursor|sort)$/;

/** No response to values made from the schemas is a 5xx or undocumented, and no forbidden body is accepted. */
export const checkValues: Check = async (api, operation) => {
  await api.send(operation);
  for (const { name, in: place, schema } of operation.parameters) {
    if (place === 'header' || PAGING.test(name)) continue;
    // A list is a repeated parameter.
    const write = (text: string) => [jsonIn(text)].flat().map(encoded).join(`&${name}=`);
    for (const text of place === 'path' ? IDS : [...valuesFor(api, schema).map(write), ...IDS]) {
      const path = api.pathOf(operation, { [name]: text });
      await api.send(operation, { path, what: `${name} = ${shown(text)}` });
    }
  }
  if (operation.body) await checkBody(api, operation, operation.body);
};

async function checkBody(api: Api, operation: Operation, schema: Schema): Promise<void> {
  const { document } = api;
  const send = async (body: string, name: string, text: string) => {
    const response = await api.send(operation, { body, what: `${name} = ${text}` });
    const [mistake] = jsonIn(body) === undefined ? [] : document.errors(schema, body);
    if (!mistake || !isSuccess(response)) return;
    const problem = `accepts ${name} = ${text}, which its document forbids: ${mistake.where} ${mistake.rule}`;
    api.note(operation, problem, `accepts ${name}`);
  };
  for (const body of BODIES) await send(body, 'body', shown(body));
  const example = document.exampleOf(schema);
  for (const [place, member] of document.placesOf(schema)) {
    const texts = member.type === 'string' ? LONG_TEXTS : [];
    for (const text of [undefined, ...texts, ...valuesFor(api, member)]) {
      const replaced = (body: unknown) =>
        jsonOf(changedAt(body, place, text && MARK)).replace(jsonOf(MARK), () => text ?? '');
      const isValid = document.errors(schema, replaced(example)).length === 0;
      // No conflict with an earlier request rejects a valid value.
      const body = replaced(isValid ? await api.newBody(operation) : example);
      await send(body, place.join('.'), shown(text ?? '(missing)'));
    }
  }
}

/** Lists JSON texts at the bounds of a schema, beyond them, and of other types. */
function valuesFor({ document }: Api, schema: Schema): readonly string[] {
  const { type, minimum, maximum, maxLength, maxItems, enum: choices = [], items } = document.schema(schema);
  // Those of int64 are bigints.
  const given: readonly unknown[] = [minimum ?? [], maximum ?? []].flat();
  const bounds = given.map((each) => BigInt(Math.floor(Number(each))));
  const lengths = maxLength === undefined || maxLength > 5_000 ? [] : [maxLength, maxLength + 1];
  const example = document.exampleOf(items ?? {}) ?? 1;
  const own = [
    ...choices,
    ...bounds.flatMap((each) => [each - 1n, each, each + 1n]),
    ...lengths.map((length) => 'x'.repeat(length)),
    ...(maxItems === undefined ? [] : [Array.from({ length: maxItems + 1 }, () => example)]),
  ];
  const others = type === 'string' ? ['7', ...TEXTS] : VALUES;
  return [...new Set([...own.map(jsonOf), ...others, 'null', '{"__proto__":{"x":1}}'])];
}
