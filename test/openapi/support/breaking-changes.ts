/** The use of a schema. A request may later allow more; a response may not contain new values. */
type Use = 'request' | 'response';

const MOST = ['maximum', 'maxLength', 'maxItems', 'maxProperties'];
const LEAST = ['minimum', 'minLength', 'minItems', 'minProperties'];
const FIXED = ['type', 'format', 'pattern', 'default', 'nullable'];

/**
 * Finds changes of an OpenAPI document that break clients:
 * - anything that is removed or narrowed;
 * - new values in a known part of a response.
 *
 * Additions do not break clients: operations, statuses, error codes, headers, response members, optional parameters, and
 * optional request members.
 *
 * @returns one line for each breaking change
 */
export function breakingChanges(before: any, after: any): string[] {
  const found: string[] = [];
  const report = (at: string, problem: string) => void found.push(`${at.trim()}: ${problem}`);

  const compareValue = (at: string, kind: string, was: unknown, is: unknown) => {
    if (JSON.stringify(was) !== JSON.stringify(is)) report(at, `has another ${kind}`);
  };
  const compareLists = (at: string, kind: string, was: readonly string[], is: readonly string[]) =>
    was.filter((each) => !is.includes(each)).forEach((each) => report(at, `lacks the ${kind} ${each}`));
  const rejectNew = (at: string, kind: string, was: readonly string[], is: readonly string[]) =>
    is.filter((each) => !was.includes(each)).forEach((each) => report(at, `has the new ${kind} ${each}`));
  type Compare = (at: string, was: any, is: any) => void;
  const compareMembers = (at: string, kind: string, was: any = {}, is: any = {}, compare: Compare) => {
    compareLists(at, kind, Object.keys(was), Object.keys(is));
    for (const name of Object.keys(was)) if (name in is) compare(`${at} ${name}`, was[name], is[name]);
  };

  const compareOperations: Compare = (at, was, is) => {
    compareValue(at, 'operationId', was.operationId, is.operationId);
    compareValue(at, 'authorization', was.security, is.security);
    const [had, has] = [inputsOf(was), inputsOf(is)];
    compareMembers(at, 'input', had, has, (place, one, other) => {
      if (one.schema) compareSchemas('request', place, one.schema, singleOf(one, other));
      compareContents('request')(place, one.content, other.content);
    });
    rejectNew(at, 'required input', requiredOf(had), requiredOf(has));
    compareMembers(at, 'status', statusesOf(was, before), statusesOf(is, after), compareResponses);
  };
  const compareResponses: Compare = (at, was, is) => {
    compareMembers(at, 'header', was.headers, is.headers, (place, one, other) =>
      compareSchemas('response', place, one.schema, other.schema),
    );
    compareLists(at, 'required header', requiredOf(was.headers), requiredOf(is.headers));
    compareContents('response')(at, was.content, is.content);
    compareLists(at, 'code', codesIn(was.description), codesIn(is.description));
  };
  const compareContents =
    (use: Use): Compare =>
    (at, was, is) =>
      compareMembers(at, 'media type', was, is, (_place, one, other) =>
        compareSchemas(use, at, one.schema, other.schema),
      );
  const compareSchemas = (use: Use, at: string, was: any, is: any) => {
    for (const key of FIXED) compareValue(at, key, was[key], is[key]);
    for (const key of [...MOST, ...LEAST]) {
      const none = MOST.includes(key) ? Infinity : -Infinity;
      const [had, has] = [was[key] ?? none, is[key] ?? none];
      if (had === has) continue;
      const isWider = has > had === MOST.includes(key);
      if (use === 'response' || !isWider) report(at, `has a ${isWider ? 'wider' : 'narrower'} ${key}`);
    }
    const ANY = ['any'];
    compareLists(at, 'value', was.enum ?? ANY, is.enum ?? ANY);
    if (use === 'response' && was.enum) rejectNew(at, 'value', was.enum, is.enum ?? []);
    if (use === 'request') rejectNew(at, 'required member', was.required ?? [], is.required ?? []);
    else compareLists(at, 'required member', was.required ?? [], is.required ?? []);
    compareMembers(at, 'member', was.properties, is.properties, (place, one, other) =>
      compareSchemas(use, place, one, other),
    );
    if (was.items) compareSchemas(use, `${at}[]`, was.items, is.items ?? {});
  };

  const [old, now] = [inlined(before.paths, before), inlined(after.paths, after)];
  compareMembers('', 'path', old, now, (path, was, is) =>
    compareMembers(path, 'method', was, is, compareOperations),
  );
  const schemes = ({ components }: any) => Object.keys(components.securitySchemes);
  compareLists('components', 'security scheme', schemes(before), schemes(after));
  return found;
}

/** Returns the parameters and the body of an operation. */
function inputsOf({ parameters = [], requestBody }: any): Record<string, any> {
  const inputs = parameters.map((each: any) => [`${each.in} ${each.name}`, each]);
  return Object.fromEntries(requestBody ? [...inputs, ['body', requestBody]] : inputs);
}

/** Returns the responses by status, with those of `default`, whose codes `info.description` lists. */
function statusesOf({ responses }: any, { info }: any): Record<string, any> {
  const { default: ofAll, ...own } = responses;
  const lines = ofAll ? String(info.description).matchAll(/^- (\d{3}) (`\w+`: .*)$/gm) : [];
  const more = Array.from(lines, ([, status = '', line]) => [status, { ...ofAll, description: `- ${line}` }]);
  return { ...own, ...Object.fromEntries(more) };
}

/** Lists the codes in the description of an error response. */
function codesIn(description = ''): string[] {
  return Array.from(description.matchAll(/^- `(\w+)`: /gm), ([, code = '']) => code);
}

function requiredOf(members: Record<string, any> = {}): string[] {
  return Object.keys(members).filter((name) => members[name].required);
}

/** A parameter that may now be repeated takes the single value as before, unless its values are in one text. */
function singleOf(was: any, is: any): any {
  const isRepeated = is.in === 'query' && is.schema.type === 'array' && is.explode !== false;
  return isRepeated && was.schema.type !== 'array' && !(is.schema.minItems > 1) ? is.schema.items : is.schema;
}

/** Replaces each reference by its target, and merges a schema with those of its `allOf`. */
function inlined(node: any, document: any): any {
  if (typeof node !== 'object' || node === null) return node;
  if (Array.isArray(node)) return node.map((each) => inlined(each, document));
  if (node.$ref !== undefined) {
    const names = String(node.$ref).split('/').slice(1);
    return inlined(
      names.reduce((at, name) => at[name], document),
      document,
    );
  }
  const { allOf = [], ...own } = node;
  const members = Object.entries(own).map(([name, each]) => [name, inlined(each, document)]);
  return Object.assign({}, ...inlined(allOf, document), Object.fromEntries(members));
}
