import { STATUS_CODES } from 'node:http';
import type { ComponentsObject, MediaTypeObject, ReferenceObject, ResponseObject } from '@nestjs/swagger';
import { stringify } from 'lossless-json';
import type { DefinedError } from '../../platform/errors/define-errors';
import { platformCodes } from '../../platform/errors/platform.errors';
import { problemDetails } from '../../platform/errors/problem-details';
import type { Codes } from './codes';
import { headersOf, type OwnHeader } from './headers';

const EXAMPLES = '#/components/examples/';

/** The `X-Request-Id` of the examples. */
const REQUEST_ID = '8c306bec-0f31-4111-b564-46c608ffb52e';

/**
 * Creates two examples for each code that a response refers to: the Error body and the problem details.
 *
 * @param pages the address of the pages about the codes
 * @param referring the parts of the document with responses
 */
export function errorExamples(
  codes: Codes,
  pages: string,
  ...referring: readonly object[]
): NonNullable<ComponentsObject['examples']> {
  const text = stringify(referring) ?? '';
  return Object.fromEntries(
    codes
      .filter(({ code }) => text.includes(`"${EXAMPLES}${code}"`))
      .flatMap((known) => {
        const { code, when, example, status } = known;
        const summary = plain(when);
        return [
          [code, { summary, value: { code, message: example, status } }],
          [problemName(known), { summary, value: problemExample(known, pages) }],
        ];
      }),
  );
}

/** Describes the response of one status, with its codes. */
export function errorResponseObject(codes: Codes, extra: readonly OwnHeader[]): ResponseObject {
  const own = codes.flatMap(({ header }) => (header === undefined ? [] : [header]));
  const isAlways = own.length === codes.length;
  const headers = [...new Set(own)].map((name) => ({ name, isOptional: !isAlways }));
  return {
    description: codes.map(({ code, when }) => `- \`${code}\`: ${when}.`).join('\n'),
    headers: headersOf([...headers, ...extra]),
    content: {
      'application/json': contentObject('Error', codes, ({ code }) => code),
      'application/problem+json': contentObject('ProblemDetails', codes, problemName),
    },
  };
}

/** @param nameOf returns the name of a code's example */
function contentObject(
  schema: string,
  codes: Codes,
  nameOf: (code: DefinedError) => string,
): MediaTypeObject {
  return {
    schema: { $ref: `#/components/schemas/${schema}` },
    examples: Object.fromEntries(codes.map((each) => [each.code, { $ref: `${EXAMPLES}${nameOf(each)}` }])),
  };
}

/** A code has no dot, so the name is not one of another code. */
function problemName({ code }: DefinedError): string {
  return `${code}.problem`;
}

/** @param pages the address of the pages about the codes */
export function problemExample({ code, status, example, place }: DefinedError, pages: string): object {
  // A detail has no full stop.
  const problems = place ? [{ ...place, detail: example.replace(/\.$/, '') }] : [];
  return problemDetails({ code, status, message: example, problems }, pages, REQUEST_ID);
}

/**
 * True if the codes of this status are the same for every operation, except those with codes of their own.
 *
 * @param all the codes of the document
 */
export function isSharedByOperations(codes: Codes, all: Codes): boolean {
  const common = all.filter((code) => code.on !== undefined || platformCodes.includes(code));
  const ofStatus = common.filter(({ status }) => status === codes[0]?.status);
  return (
    codes.length === ofStatus.length &&
    ofStatus.every((code) => code.on !== undefined && codes.includes(code))
  );
}

export function sharedName(status: number): string {
  return (STATUS_CODES[status] ?? String(status)).replaceAll(/\W/g, '');
}

export function sharedReference(status: number): ReferenceObject {
  return { $ref: `#/components/responses/${sharedName(status)}` };
}

/** Removes the Markdown, because a summary is plain text. */
export function plain(text: string): string {
  const bare = text.replaceAll('`', '');
  return `${bare.charAt(0).toUpperCase()}${bare.slice(1)}`;
}
