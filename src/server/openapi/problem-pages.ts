import { STATUS_CODES } from 'node:http';
import type { OpenAPIObject } from '@nestjs/swagger';
import type { FastifyInstance } from 'fastify';
import type { DefinedError } from '../../platform/errors/define-errors';
import { sendError } from '../error-reply';
import { platformErrors } from '../../platform/errors/platform.errors';
import { titleOf } from '../../platform/errors/problem-details';
import { codeOfStatus, isClientError } from '../../platform/errors/api-error';
import { StaticContent } from '../../platform/entity-tags/static-content';
import { type Codes, rejectedCodes } from './codes';
import { API_TITLE } from './document';
import { plain, problemExample } from './error-responses';
import { operationsOf } from './operations-of';
import { pageHeaders } from './page-policy';
import { renderPage } from './page-template';
import { remedyOf } from './problem-remedies';

/** A status without a reason phrase. */
const UNNAMED_STATUS = 499;

/**
 * Serves a public page about each code, at the address in `type` of problem details.
 *
 * @param codes the codes of the document
 */
export function serveProblemPages(fastify: FastifyInstance, { paths }: OpenAPIObject, codes: Codes): void {
  const known = new Map([...statusCodes(), ...codes].map((each) => [each.code, each]));
  const pages = new Map<string, StaticContent>();
  fastify.get<{ Params: { code: string } }>(
    '/problems/:code',
    { config: { public: true, entityTag: true } },
    (request, reply) => {
      const error = known.get(request.params.code);
      if (!error) return sendError(reply, platformErrors.route_not_found());
      const page = pages.get(error.code) ?? contentOf(error, operationsWith(error, paths, codes), fastify);
      pages.set(error.code, page);
      return page.send(request, reply);
    },
  );
}

/** Lists the codes of errors that a module throws as Nest's exceptions. Those of the document replace them. */
function statusCodes(): DefinedError[] {
  const named = Object.keys(STATUS_CODES).map(Number).filter(isClientError);
  return [...named, UNNAMED_STATUS].map((status) => {
    const { code, message: example } = codeOfStatus(status);
    const when = 'an operation rejects the request for a reason of its own';
    return { code, status, example, when, ...(status === 401 && { header: 'WWW-Authenticate' as const }) };
  });
}

/** Names the operations that can respond with a code. */
function operationsWith(error: DefinedError, paths: OpenAPIObject['paths'], codes: Codes): string {
  const all = operationsOf(paths);
  const some = all.filter((operation) => rejectedCodes(operation, codes).includes(error));
  if (some.length === 0) return 'None of the documented operations.';
  const others = all.filter((operation) => !some.includes(operation));
  if (others.length === 0) return 'Every operation.';
  return others.length < some.length ? `Every operation, except ${namesOf(others)}.` : `${namesOf(some)}.`;
}

function namesOf(operations: ReturnType<typeof operationsOf>): string {
  return operations.map(({ operationId, summary }) => `${operationId} (${summary})`).join(', ');
}

function contentOf(
  error: DefinedError,
  operations: string,
  { problemPages }: FastifyInstance,
): StaticContent {
  const { code, status, when, header } = error;
  const html = renderPage('problem-page.html', {
    api: API_TITLE,
    title: titleOf(code),
    code,
    status: `${status} ${STATUS_CODES[status] ?? ''}`.trimEnd(),
    when: `${plain(when)}.`,
    remedy: remedyOf(status),
    operations,
    headers: header ? `Each of these responses has ${header}.` : 'Only those of every response.',
    example: JSON.stringify(problemExample(error, problemPages), undefined, 2),
  });
  return new StaticContent(pageHeaders(html), () => html);
}
